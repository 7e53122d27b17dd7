"""Calls that run, load, show or trust what somebody else wrote."""

from .base import Kind, in_function, rules

# Code. For each language: variants of a fault and twins, as the body of a function; `»` marks the lines of the fault.

COMMANDS = {
    "python": (["»os.system('tar czf backup.tgz ' + value)"], ["»os.system(f'git log {value}')"], ["»os.system(value)"],
               ["»subprocess.run(f'git log {value}', shell=True, check=True)"],
               ["»subprocess.check_output('grep ' + value + ' notes.txt', shell=True)"],
               ["»subprocess.call(value, shell=True)"], ["»os.popen('ls %s' % value).read()"],
               ["»subprocess.run(", "    f'git log {value}',", "»    shell=True,", "    check=True,", ")"],
               ["»subprocess.Popen('git log {}'.format(value), shell=True)"]),
    "javascript": (["»execSync(`git log ${value}`)"], ["»child_process.exec('git log ' + value)"],
                   ["»require('child_process').execSync(`tar czf backup.tgz ${value}`)"], ["»child_process.exec(value)"],
                   ["»exec(`rm -rf ${value}`, () => {})"], ["»spawn(value, { shell: true })"]),
    "go": (['»exec.Command("sh", "-c", value).Run()'], ['»exec.Command("bash", "-c", "git log "+value).Run()'],
           ['»exec.Command("/bin/sh", "-c", fmt.Sprintf("git log %s", value)).Run()']),
    "rust": (['»let _ = std::process::Command::new("sh").arg("-c").arg(value).status();'],
             ['»let _ = std::process::Command::new("sh").arg("-c").arg(format!("git log {value}")).status();'],
             ['»let _ = std::process::Command::new("sh").args(["-c", value]).status();'],
             ['»let _ = std::process::Command::new("sh")', '»    .arg("-c")', '»    .arg(format!("git log {value}"))', "    .status();"]),
    "java": (['»Runtime.getRuntime().exec("git log " + value);'], ["»Runtime.getRuntime().exec(value);"],
             ['»new ProcessBuilder("sh", "-c", value).start();'],
             ['»new ProcessBuilder("/bin/bash", "-c", "git log " + value).start();']),
}  # fmt: skip
COMMAND_TWINS = {
    "python": (["subprocess.run(['git', 'log', value], check=True)"],),
    "javascript": (["execFileSync('git', ['log', value])"],),
    "go": (['exec.Command("git", "log", value).Run()'],),
    "rust": (['let _ = std::process::Command::new("git").arg("log").arg(value).status();'],),
    "java": (['new ProcessBuilder("git", "log", value).start();'],),
}
PROGRAMS = {
    "python": (["»return eval(value)"], ["»exec(value, {})"], ["»return eval(f'{value} + 1')"], ["»exec(compile(value, 'x', 'exec'))"]),
    "javascript": (["»return eval(value)"], ["»return new Function('a', value)"], ["»return eval(`(${value})`)"],
                   ["»return Function('return ' + value)()"], ["»return vm.runInNewContext(value)"]),
}  # fmt: skip
PROGRAM_TWINS = {"python": (["return ast.literal_eval(value)"],), "javascript": (["return JSON.parse(value)"],)}
PAGES = {"javascript": (["»element.innerHTML = value"], ["»document.write(value)"], ["»element.innerHTML = `<b>${value}</b>`"],
                        ["»element.outerHTML = '<p>' + value"], ["»element.insertAdjacentHTML('beforeend', value)"])}  # fmt: skip
PAGE_TWINS = {"javascript": (["element.textContent = value"],)}
LOADERS = {
    "python": (["»return pickle.loads(value)"], ["»return yaml.load(value)"], ["»return yaml.load(value, Loader=yaml.Loader)"],
               ["»return marshal.loads(value)"], ["with open(value, 'rb') as file:", "»    return pickle.load(file)"]),
    "java": (["»return new ObjectInputStream(value).readObject();"],),
}  # fmt: skip
LOADER_TWINS = {"python": (["return json.loads(value)"], ["return yaml.safe_load(value)"]), "java": (["return value.readAllBytes();"],)}
TRUST = {
    "python": (["»return requests.get(value, verify=False)"], ["session = requests.Session()", "»session.verify = False"],
               ["»context = ssl._create_unverified_context()"],
               ["context = ssl.create_default_context()", "»context.check_hostname = False", "»context.verify_mode = ssl.CERT_NONE"],
               ["»return httpx.Client(verify=False)"],
               ["»return requests.post(", "    value,", "»    verify=False,", ")"]),
    "javascript": (["»const agent = new https.Agent({ rejectUnauthorized: false })"],
                   ["»process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'"],
                   ["»process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = 0"],
                   ["const agent = new https.Agent({", "»  rejectUnauthorized: false,", "})"]),
    "go": (["»config := &tls.Config{InsecureSkipVerify: true}", "_ = config"],
           ["config := &tls.Config{}", "»config.InsecureSkipVerify = true"],
           ["config := &tls.Config{", "»\tInsecureSkipVerify: true,", "}", "_ = config"]),
    "rust": (["»let _ = reqwest::Client::builder().danger_accept_invalid_certs(true).build();"],
             ["let _ = reqwest::Client::builder()", "»    .danger_accept_invalid_certs(true)", "    .build();"]),
    "java": (["»HttpsURLConnection.setDefaultHostnameVerifier((host, session) -> true);"],
             ["»builder.setSSLHostnameVerifier(NoopHostnameVerifier.INSTANCE);"],
             ["»connection.setHostnameVerifier((String host, SSLSession session) -> true);"]),
}  # fmt: skip
TRUST_TWINS = {
    "python": (["return requests.get(value, verify=True, timeout=5)"], ["context = ssl.create_default_context()"]),
    "javascript": (["const agent = new https.Agent({ rejectUnauthorized: true })"],),
    "go": (["config := &tls.Config{MinVersion: tls.VersionTLS12}", "_ = config"],),
    "rust": (["let _ = reqwest::Client::builder().https_only(true).build();"],),
    "java": (["HttpsURLConnection.setDefaultHostnameVerifier(strict);"],),
}


KINDS = [
    Kind("code", "command", rules("dangerous-call", "command-injection"), in_function(COMMANDS, COMMAND_TWINS)),
    Kind("code", "dynamic-code", rules("dangerous-call", "dynamic-code"), in_function(PROGRAMS, PROGRAM_TWINS)),
    Kind("code", "html", rules("dangerous-call", "html-injection"), in_function(PAGES, PAGE_TWINS)),
    Kind("code", "deserialization", rules("dangerous-call", "unsafe-deserialization"), in_function(LOADERS, LOADER_TWINS)),
    Kind("code", "tls-off", rules("dangerous-call", "tls-verification-off"), in_function(TRUST, TRUST_TWINS)),
]  # fmt: skip
