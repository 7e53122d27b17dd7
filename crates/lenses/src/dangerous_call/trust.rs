//! Code that no longer asks for the certificate of the other side.

use super::{C, CS, GO, JAVA, JS, JVM, KOTLIN, PHP, PY, RUBY, RUST, THIS_MACHINE};
use qa_reading::patterns::{Definition, Variable};

/// A value that switches the check off, also at the end of a chain of assignments.
const OFF: Variable = Variable::any("V").matching(r"(?:^|[^=!<>]=\s*)(?:False|0|bool\(0?\))$");
const METHOD: Variable = Variable::one_of(
    "M",
    &[
        "get",
        "post",
        "put",
        "patch",
        "delete",
        "head",
        "options",
        "request",
        "send",
        "stream",
        "Client",
        "AsyncClient",
        "Session",
    ],
);
const FUNCTION: Variable = Variable::one_of(
    "F",
    &[
        "requests.get",
        "requests.post",
        "requests.put",
        "requests.patch",
        "requests.delete",
        "requests.head",
        "requests.options",
        "requests.request",
        "httpx.get",
        "httpx.post",
        "httpx.put",
        "httpx.patch",
        "httpx.delete",
        "httpx.head",
        "httpx.options",
        "httpx.request",
        "httpx.stream",
        "httpx.Client",
        "httpx.AsyncClient",
    ],
);
const CALLBACK: Variable = Variable::one_of(
    "M",
    &[
        "hostnameVerifier",
        "setHostnameVerifier",
        "setSSLHostnameVerifier",
        "setDefaultHostnameVerifier",
        "HostnameVerifier",
    ],
);
const ACCEPTS: Variable = Variable::any("L").matching(r"(?s)->\s*(?:true|\{\s*return\s+true;?\s*\})\s*\}?$");
const TRUSTS_ALL: Variable = Variable::one_of(
    "N",
    &[
        "org.apache.http.conn.ssl.NoopHostnameVerifier",
        "org.apache.hc.client5.http.ssl.NoopHostnameVerifier",
        "org.apache.http.conn.ssl.AllowAllHostnameVerifier",
        "org.apache.http.conn.ssl.TrustAllStrategy",
        "org.apache.hc.client5.http.ssl.TrustAllStrategy",
        "org.apache.hc.core5.ssl.TrustAllStrategy",
        "io.netty.handler.ssl.util.InsecureTrustManagerFactory",
    ],
);
/// A function of C# that says yes to anything.
const SAYS_TRUE: Variable = Variable::any("L")
    .matching(r"(?s)(?:=>\s*(?:true|\{\s*return\s+true;\s*\})|^delegate\b.*\{\s*return\s+true;\s*\})\s*\)?$");

const fn off(row: Definition) -> Definition {
    row.not_near(THIS_MACHINE)
}

pub(super) const ROWS: &[Definition] = &[
    off(Definition::new(PY, &["$O.$M(..., verify=$V)"]).with(&[METHOD, OFF]).reporting("verify")),
    off(Definition::new(PY, &["$F(..., verify=$V)"]).with(&[FUNCTION, OFF]).reporting("verify")),
    off(Definition::new(PY, &["$S.verify = $V"])
        .with(&[Variable::any("S").matching(r"(?i)(?:^|[._])(?:requests|sess|session|client|s)(?:\(.*\))?$"), OFF])),
    off(Definition::new(PY, &["setattr($S, 'verify', $V)"])
        .with(&[Variable::any("S").matching(r"(?i)(?:^|[._])(?:requests|sess|session|client|s)$"), OFF])),
    off(Definition::new(
        PY,
        &[
            "setattr($C, 'check_hostname', $V)",
            "setattr($C, 'verify_ssl', $V)",
            "$C.__setattr__('check_hostname', $V)",
            "object.__setattr__($C, 'check_hostname', $V)",
        ],
    )
    .with(&[OFF])),
    off(Definition::new(
        PY,
        &[
            "setattr($C, 'verify_mode', $V)",
            "$C.__setattr__('verify_mode', $V)",
            "object.__setattr__($C, 'verify_mode', $V)",
        ],
    )
    .with(&[Variable::any("V").matching(r"(?:^|\.)CERT_NONE$")])),
    off(Definition::new(PY, &["$P($F, ..., verify=$V)"])
        .with(&[Variable::one_of("P", &["functools.partial", "partial"]), FUNCTION, OFF])
        .reporting("verify")),
    off(Definition::new(PY, &["os.environ.PYTHONHTTPSVERIFY = $V"])
        .with(&[Variable::any("V").matching("^0$")])),
    off(Definition::new(PY, &["os.environ.CURL_CA_BUNDLE = ''", "os.environ.REQUESTS_CA_BUNDLE = ''"])),
    off(Definition::new(PY, &["$C.set_missing_host_key_policy($P)"])
        .with(&[Variable::any("P").matching(r"(?:^|\.)AutoAddPolicy(?:\([^()]*\))?$")])),
    off(Definition::new(
        PY,
        &[
            "ssl._create_unverified_context",
            "check_hostname=False",
            "verify_ssl=False",
            "tlsAllowInvalidCertificates=True",
            "tlsInsecure=True",
        ],
    )),
    off(Definition::new(PY, &["$C.check_hostname = $V", "$C.verify_ssl = $V", "verify_ssl = $V"]).with(&[OFF])),
    off(Definition::new(PY, &["cert_reqs=$V", "$C.verify_mode = $V"])
        .with(&[Variable::any("V").matching(r"(?:^|\.)CERT_NONE$")])),
    off(Definition::new(PY, &["$F(..., ssl=False)"])
        .with(&[Variable::one_of("F", &["aiohttp.TCPConnector", "TCPConnector"])])
        .reporting("ssl")),
    off(Definition::new(PY, &["$O.$M(..., ssl=False)"])
        .with(&[Variable::any("O").matching(r"(?i)(?:session|aiohttp|client|(?:^|\.)s)$"), METHOD])
        .reporting("ssl")),
    off(Definition::new(
        JS,
        &["rejectUnauthorized: false", "$O.rejectUnauthorized = false", "strictSSL: false", "$O.strictSSL = false"],
    )),
    off(Definition::new(JS, &["$O.rejectUnauthorized = $V"])
        .with(&[Variable::any("V").matching(r"[^=!<>]=\s*false$")])),
    off(Definition::new(
        JS,
        &[
            "$F($O, 'rejectUnauthorized', { value: false, ... })",
            "$F($O, 'strictSSL', { value: false, ... })",
        ],
    )
    .with(&[Variable::one_of("F", &["Object.defineProperty", "Reflect.defineProperty"])])),
    off(Definition::new(
        JS,
        &[
            "rejectUnauthorized: { value: false, ... }",
            "Reflect.set($O, 'rejectUnauthorized', false, ...)",
            "Reflect.set($O, 'strictSSL', false, ...)",
        ],
    )),
    off(Definition::new(
        JS,
        &["$O.NODE_TLS_REJECT_UNAUTHORIZED = $V", "NODE_TLS_REJECT_UNAUTHORIZED: $V"],
    )
    .with(&[Variable::any("V").matching("^0$")])),
    off(Definition::new(JS, &["checkServerIdentity: $L", "$O.checkServerIdentity = $L"])
        .with(&[Variable::any("L").matching(
            r"^(?:\([\w\s,:]*\)\s*=>\s*(?:undefined|null|void 0|\{\s*\})|function\s*\w*\([\w\s,:]*\)\s*\{\s*(?:return(?:\s+undefined|\s+null)?;?)?\s*\})$",
        )])),
    off(Definition::new(GO, &["InsecureSkipVerify: true", "$C.InsecureSkipVerify = true"])),
    off(Definition::new(GO, &["ssh.InsecureIgnoreHostKey()"]).using(&["import \"golang.org/x/crypto/ssh\""])),
    off(Definition::new(RUST, &["$C.$M(true)"]).with(&[Variable::one_of(
        "M",
        &[
            "danger_accept_invalid_certs",
            "danger_accept_invalid_hostnames",
            "tls_danger_accept_invalid_certs",
            "tls_danger_accept_invalid_hostnames",
        ],
    )])),
    off(Definition::new(RUST, &["openssl::ssl::SslVerifyMode::NONE", "boring::ssl::SslVerifyMode::NONE"])),
    off(Definition::new(
        RUST,
        &["$C.dangerous().with_custom_certificate_verifier($V)", "$C.dangerous().set_certificate_verifier($V)"],
    )
    .with(&[Variable::any("V").matching(
        r"No(?:op|ne)?(?:Server)?(?:Cert|Verif|Tls|Hostname)|(?i:skip|insecure|accept_?(?:all|any|invalid)|trust_?(?:all|any)|allow_?(?:all|any)|disable|unverified)",
    )])),
    off(Definition::new(JVM, &["$C.$M($L)", "$M($L)"]).with(&[CALLBACK, ACCEPTS])),
    off(Definition::new(JVM, &["$N.INSTANCE", "new $N()"]).with(&[TRUSTS_ALL])),
    off(Definition::new(JVM, &["$C.ALLOW_ALL_HOSTNAME_VERIFIER", "ALLOW_ALL_HOSTNAME_VERIFIER"])),
    off(Definition::new(
        JAVA,
        &[
            "public void $N(X509Certificate[] $A, String $B) { }",
            "public void $N(X509Certificate[] $A, String $B) throws CertificateException { }",
            "@Override public void $N(X509Certificate[] $A, String $B) { }",
            "@Override public void $N(X509Certificate[] $A, String $B) throws CertificateException { }",
        ],
    )
    .using(&["import java.security.cert.X509Certificate;", "import java.security.cert.CertificateException;"])
    .with(&[Variable::any("N").matching("^checkServerTrusted$")])),
    off(Definition::new(
        JAVA,
        &[
            "public boolean $N(String $A, SSLSession $B) { return true; }",
            "@Override public boolean $N(String $A, SSLSession $B) { return true; }",
        ],
    )
    .using(&["import javax.net.ssl.SSLSession;"])
    .with(&[Variable::any("N").matching("^verify$")])),
    off(Definition::new(KOTLIN, &["checkServerTrusted(...) {}", "checkServerTrusted(...) = Unit"])),
    off(Definition::new(CS, &["$H.DangerousAcceptAnyServerCertificateValidator"])),
    off(Definition::new(
        CS,
        &[
            "$H.ServerCertificateValidationCallback = $L",
            "$H.ServerCertificateCustomValidationCallback = $L",
            "$H.RemoteCertificateValidationCallback = $L",
            "ServerCertificateValidationCallback = $L",
            "ServerCertificateCustomValidationCallback = $L",
            "RemoteCertificateValidationCallback = $L",
            "new RemoteCertificateValidationCallback($L)",
        ],
    )
    .with(&[SAYS_TRUE])),
    off(Definition::new(RUBY, &["OpenSSL::SSL::VERIFY_NONE", "verify_ssl: false", "verify_peer: false"])),
    off(Definition::new(RUBY, &["$H.verify_mode = $V"]).with(&[Variable::any("V").matching("^0$")])),
    off(Definition::new(RUBY, &["ssl: $H"]).with(&[Variable::any("H").matching(r"^\{.*\bverify:\s*false\b")])),
    off(Definition::new(RUBY, &["HTTParty.$M(..., verify: false)"]).with(&[METHOD]).reporting("verify")),
    off(Definition::new(
        C,
        &["curl_easy_setopt($H, CURLOPT_SSL_VERIFYPEER, $V)", "curl_easy_setopt($H, CURLOPT_SSL_VERIFYHOST, $V)"],
    )
    .with(&[Variable::any("V").matching(r"^(?:0[Ll]?|FALSE|false)$")])),
    off(Definition::new(
        PHP,
        &["curl_setopt($C, CURLOPT_SSL_VERIFYPEER, $V)", "curl_setopt($C, CURLOPT_SSL_VERIFYHOST, $V)"],
    )
    .with(&[Variable::any("V").matching("(?i)^(?:false|0)$")])),
    off(Definition::new(
        PHP,
        &[
            "CURLOPT_SSL_VERIFYPEER => $V",
            "CURLOPT_SSL_VERIFYHOST => $V",
            "\\CURLOPT_SSL_VERIFYPEER => $V",
            "\\CURLOPT_SSL_VERIFYHOST => $V",
            "$O[CURLOPT_SSL_VERIFYPEER] = $V",
            "$O[CURLOPT_SSL_VERIFYHOST] = $V",
            "'verify_peer' => $V",
            "'verify_peer_name' => $V",
        ],
    )
    .with(&[Variable::any("V").matching(r"(?i)^\\?(?:false|0)$")])),
    off(Definition::new(PHP, &["$O->$M(..., ['verify' => false, ...])", "new Client(['verify' => false, ...])"])
        .with(&[METHOD])
        .reporting("verify")),
    off(Definition::new(PHP, &["$O->withoutVerifying()", "Http::withoutVerifying()"])),
];
