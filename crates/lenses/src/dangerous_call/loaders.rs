//! Calls that read data in a way that lets it run code.

use super::{CS, JS, JVM, PHP, PY, RUBY};
use qa_reading::patterns::{Definition, Variable};

/// Data that this program has not just written.
const DATA: Variable = Variable::computed("X")
    .not_matching(r"^(?:\w+(?:\.|::))?dumps?\s*\(|^(?:\w+::)?(?:Marshal\.dump|serialize\s*\()");
const LOADER: Variable = Variable::one_of(
    "L",
    &[
        "yaml.Loader",
        "yaml.CLoader",
        "yaml.UnsafeLoader",
        "yaml.CUnsafeLoader",
        "Loader",
        "CLoader",
        "UnsafeLoader",
        "CUnsafeLoader",
    ],
);
const PICKLE: Variable = Variable::one_of(
    "F",
    &[
        "pickle.load",
        "pickle.loads",
        "pickle.Unpickler",
        "_pickle.load",
        "_pickle.loads",
        "cPickle.load",
        "cPickle.loads",
        "dill.load",
        "dill.loads",
        "dill.Unpickler",
        "cloudpickle.load",
        "cloudpickle.loads",
        "marshal.load",
        "marshal.loads",
        "jsonpickle.load",
        "jsonpickle.loads",
        "jsonpickle.decode",
        "joblib.load",
        "pandas.read_pickle",
        "pd.read_pickle",
        "shelve.open",
    ],
);

pub(super) const ROWS: &[Definition] = &[
    Definition::new(
        PY,
        &["yaml.load($X)", "yaml.load_all($X)", "yaml.unsafe_load(...)", "yaml.unsafe_load_all(...)"],
    ),
    Definition::new(
        PY,
        &[
            "yaml.load($X, $L)",
            "yaml.load_all($X, $L)",
            "yaml.load(..., Loader=$L)",
            "yaml.load_all(..., Loader=$L)",
        ],
    )
    .with(&[LOADER]),
    Definition::new(PY, &["$F(..., typ=\"unsafe\")"])
        .with(&[Variable::one_of("F", &["ruamel.yaml.YAML", "YAML"])]),
    Definition::new(PY, &["$F($X, ...)"]).with(&[PICKLE, DATA]),
    Definition::new(PY, &["torch.load($X, ...)"])
        .with(&[DATA])
        .unless(&["torch.load(..., weights_only=True)"]),
    Definition::new(PY, &["$F(..., allow_pickle=True)"])
        .with(&[Variable::one_of("F", &["numpy.load", "np.load"])])
        .reporting("allow_pickle"),
    Definition::new(JVM, &["new $N(...)"])
        .with(&[Variable::one_of("N", &["java.io.ObjectInputStream", "java.beans.XMLDecoder"])]),
    Definition::new(JVM, &["$S.fromXML($X, ...)"])
        .with(&[Variable::any("S").matching(r"(?i)xstream(?:\(.*\))?$")]),
    Definition::new(JVM, &["$M.enableDefaultTyping(...)"]),
    Definition::new(RUBY, &["Marshal.load($X, ...)", "Marshal.restore($X, ...)"]).with(&[DATA]),
    Definition::new(RUBY, &["YAML.unsafe_load(...)", "Psych.unsafe_load(...)"]),
    Definition::new(PHP, &["unserialize($X)"]).with(&[DATA]),
    Definition::new(JS, &["$F($X)"]).with(&[Variable::one_of("F", &["node-serialize.unserialize"]), DATA]),
    Definition::new(CS, &["new $N(...)"]).with(&[Variable::one_of(
        "N",
        &[
            "System.Runtime.Serialization.Formatters.Binary.BinaryFormatter",
            "System.Runtime.Serialization.Formatters.Soap.SoapFormatter",
            "System.Runtime.Serialization.NetDataContractSerializer",
            "System.Web.UI.LosFormatter",
            "System.Web.UI.ObjectStateFormatter",
        ],
    )]),
    Definition::new(
        CS,
        &[
            "TypeNameHandling.All",
            "TypeNameHandling.Auto",
            "TypeNameHandling.Objects",
            "TypeNameHandling.Arrays",
        ],
    ),
];
