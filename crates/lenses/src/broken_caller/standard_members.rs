//! Members of modules of Python's standard library, in any version from 2.7 to 3.15 and on any system.

/// Modules in their order, each with its members between blanks; those that begin with an underscore are left out.
const MODULES: &[(&str, &str)] = &[
    (
        "base64",
        "EMPTYSTRING MAXBINSIZE MAXLINESIZE SupportsNoArgReadline a85decode a85encode b16decode b16encode \
         b32decode b32encode b32hexdecode b32hexencode b64decode b64encode b85decode b85encode binascii \
         bytes_types decode decodebytes decodestring encode encodebytes encodestring k main re standard_b64decode \
         standard_b64encode string struct sys test test1 urlsafe_b64decode urlsafe_b64encode v z85decode \
         z85encode",
    ),
    ("bisect", "MutableSequence bisect bisect_left bisect_right insort insort_left insort_right"),
    (
        "collections",
        "AsyncGenerator AsyncIterable AsyncIterator Awaitable ByteString Callable ChainMap Collection Container \
         Coroutine Counter Generator Hashable ItemsView Iterable Iterator KeysView Mapping MappingView \
         MutableMapping MutableSequence MutableSet OrderedDict Reversible Sequence Set Sized UserDict UserList \
         UserString ValuesView abc defaultdict deque dict_items dict_keys dict_values frozendict namedtuple sys",
    ),
    (
        "contextlib",
        "ABC AbstractAsyncContextManager AbstractContextManager AsyncContextDecorator AsyncExitStack \
         AsyncIterator ContextDecorator ExitStack GeneratorContextManager GenericAlias MethodType TracebackType \
         abc abstractmethod aclosing asynccontextmanager chdir closing contextmanager deque nested nullcontext os \
         redirect_stderr redirect_stdout suppress sys warn wraps",
    ),
    ("copy", "Error PyStringMap copy deepcopy dispatch_table error name replace sys t weakref"),
    (
        "csv",
        "Collection Dialect DictReader DictWriter Error OrderedDict QUOTE_ALL QUOTE_MINIMAL QUOTE_NONE \
         QUOTE_NONNUMERIC QUOTE_NOTNULL QUOTE_STRINGS Reader Sniffer StringIO Writer excel excel_tab \
         field_size_limit get_dialect list_dialects re reader reduce register_dialect sys types unix_dialect \
         unregister_dialect writer",
    ),
    (
        "dataclasses",
        "DataclassInstance Field FrozenInstanceError FunctionType GenericAlias InitVar KW_ONLY MISSING Type abc \
         asdict astuple builtins copy dataclass enum field fields functools inspect is_dataclass itertools \
         keyword make_dataclass re recursive_repr replace sys types",
    ),
    (
        "datetime",
        "MAXYEAR MINYEAR UTC abstractmethod date datetime datetime_CAPI struct_time sys time timedelta timezone \
         tzinfo",
    ),
    (
        "enum",
        "CONFORM CONTINUOUS DynamicClassAttribute EJECT Enum EnumCheck EnumDict EnumMeta EnumType Flag \
         FlagBoundary IntEnum IntFlag KEEP MappingProxyType NAMED_FLAGS OrderedDict ReprEnum STRICT StrEnum \
         UNIQUE auto bin bltns global_enum global_enum_repr global_flag_repr global_str member nonmember \
         pickle_by_enum_name pickle_by_global_name property reduce show_flag_values sys types unique verify",
    ),
    ("fnmatch", "PathLike filter filterfalse fnmatch fnmatchcase functools os posixpath re sys translate"),
    (
        "functools",
        "GenericAlias MappingProxyType Placeholder RLock WRAPPER_ASSIGNMENTS WRAPPER_UPDATES WeakKeyDictionary \
         cache cached_property cmp_to_key get_cache_token lru_cache namedtuple partial partialmethod \
         recursive_repr reduce singledispatch singledispatchmethod sys total_ordering types update_wrapper wraps",
    ),
    (
        "glob",
        "contextlib escape fnmatch functools glob glob0 glob1 has_magic iglob itertools magic_check \
         magic_check_bytes operator os re stat sys translate",
    ),
    (
        "hashlib",
        "AbstractSet HASH algorithms algorithms_available algorithms_guaranteed binascii blake2b blake2s \
         file_digest md5 new pbkdf2_hmac scrypt sha1 sha224 sha256 sha384 sha3_224 sha3_256 sha3_384 sha3_512 \
         sha512 shake_128 shake_256 struct sys",
    ),
    (
        "heapq",
        "chain cmp_lt count heapify heapify_max heappop heappop_max heappush heappush_max heappushpop \
         heappushpop_max heapreplace heapreplace_max imap islice itemgetter izip merge nlargest nsmallest sys tee",
    ),
    ("html", "entities escape parser re unescape"),
    (
        "inspect",
        "AGEN_CLOSED AGEN_CREATED AGEN_RUNNING AGEN_SUSPENDED AbstractSet AnnotationForm ArgInfo ArgSpec \
         Arguments AsyncGeneratorType Attribute BlockFinder BoundArguments BufferFlags BuiltinFunctionType \
         BuiltinMethodType CORO_CLOSED CORO_CREATED CORO_RUNNING CORO_SUSPENDED CO_ASYNC_GENERATOR CO_COROUTINE \
         CO_GENERATOR CO_HAS_DOCSTRING CO_ITERABLE_COROUTINE CO_METHOD CO_NESTED CO_NEWLOCALS CO_NOFREE \
         CO_OPTIMIZED CO_VARARGS CO_VARKEYWORDS ClassFoundException ClassMethodDescriptorType ClosureVars \
         CodeType Coroutine CoroutineType EndOfBlock Format FrameInfo FrameType FullArgSpec FunctionType \
         GEN_CLOSED GEN_CREATED GEN_RUNNING GEN_SUSPENDED GeneratorType GetSetDescriptorType LambdaType \
         MemberDescriptorType MethodDescriptorType MethodType MethodWrapperType ModuleInfo ModuleType OrderedDict \
         Parameter Signature TPFLAGS_IS_ABSTRACT Traceback TracebackType WrapperDescriptorType abc ast attrgetter \
         builtins classify_class_attrs cleandoc collections currentframe dis enum findsource formatannotation \
         formatannotationrelativeto formatargspec formatargvalues functools get_annotations getabsfile getargs \
         getargspec getargvalues getasyncgenlocals getasyncgenstate getattr_static getblock getcallargs \
         getclasstree getclosurevars getcomments getcoroutinelocals getcoroutinestate getdoc getfile getframeinfo \
         getfullargspec getgeneratorlocals getgeneratorstate getinnerframes getlineno getmembers \
         getmembers_static getmodule getmoduleinfo getmodulename getmro getouterframes getsource getsourcefile \
         getsourcelines imp importlib indentsize isabstract isasyncgen isasyncgenfunction isawaitable isbuiltin \
         isclass iscode iscoroutine iscoroutinefunction isdatadescriptor isframe isfunction isgenerator \
         isgeneratorfunction isgetsetdescriptor iskeyword ismemberdescriptor ismethod ismethoddescriptor \
         ismethodwrapper ismodule ispackage isroutine istraceback itertools joinseq k linecache make_weakref \
         markcoroutinefunction mod_dict modulesbyfile namedtuple os re signature stack string strseq sys token \
         tokenize trace types unwrap v walktree warnings",
    ),
    (
        "itertools",
        "accumulate batched chain combinations combinations_with_replacement compress count cycle dropwhile \
         filterfalse groupby ifilter ifilterfalse imap islice izip izip_longest pairwise permutations product \
         repeat starmap sys takewhile tee zip_longest",
    ),
    (
        "json",
        "JSONDecodeError JSONDecoder JSONEncoder codecs decoder detect_encoding dump dumps encoder load loads \
         scanner sys tool",
    ),
    (
        "math",
        "acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp exp2 \
         expm1 fabs factorial floor fma fmax fmin fmod frexp fsum gamma gcd hypot inf integer isclose isfinite \
         isinf isnan isnormal isqrt issubnormal lcm ldexp lgamma log log10 log1p log2 modf nan nextafter perm pi \
         pow prod radians remainder signbit sin sinh sqrt sumprod sys tan tanh tau trunc ulp",
    ),
    (
        "operator",
        "abs add and_ attrgetter call concat contains countOf delitem delslice div eq floordiv ge getitem \
         getslice gt iadd iand iconcat idiv ifloordiv ilshift imatmul imod imul index indexOf inv invert ior ipow \
         irepeat irshift isCallable isMappingType isNumberType isSequenceType is_ is_none is_not is_not_none isub \
         itemgetter itruediv ixor le length_hint lshift lt matmul methodcaller mod mul ne neg not_ or_ pos pow \
         repeat rshift sequenceIncludes setitem setslice sub sys truediv truth xor",
    ),
    (
        "os.path",
        "ALLOW_MISSING ALL_BUT_LAST AnyOrLiteralStr NewType PathLike abspath altsep basename commonpath \
         commonprefix curdir defpath devnull dirname exists expanduser expandvars extsep genericpath getatime \
         getctime getmtime getsize isabs isdevdrive isdir isfile isjunction islink ismount isreserved join \
         lexists normcase normpath os pardir pathsep realpath relpath samefile sameopenfile samestat sep split \
         splitdrive splitext splitroot splitunc stat supports_unicode_filenames sys walk warnings",
    ),
    (
        "pathlib",
        "BinaryIO BufferedRandom BufferedReader BufferedWriter EBADF EINVAL ELOOP ENOENT ENOTDIR FileIO IO \
         OpenBinaryMode OpenBinaryModeReading OpenBinaryModeUpdating OpenBinaryModeWriting OpenTextMode Path \
         PathInfo PathLike PosixPath PurePath PurePosixPath PureWindowsPath S_ISBLK S_ISCHR S_ISDIR S_ISFIFO \
         S_ISLNK S_ISREG S_ISSOCK Sequence TextIOWrapper TracebackType UnsupportedOperation WindowsPath \
         attrgetter contextmanager fnmatch functools io nt ntpath os posixpath re stat_result supports_symlinks \
         sys types urlquote_from_bytes warnings",
    ),
    (
        "random",
        "AbstractSet BPF Fraction LOG4 MutableSequence NV_MAGICCONST RECIP_BPF Random SG_MAGICCONST SystemRandom \
         TWOPI WichmannHill betavariate binomialvariate choice choices division expovariate gammavariate gauss \
         getrandbits getstate jumpahead lognormvariate main normalvariate paretovariate randbytes randint random \
         randrange sample seed setstate shuffle sys triangular uniform vonmisesvariate weibullvariate",
    ),
    (
        "re",
        "A ASCII DEBUG DOTALL I IGNORECASE L LOCALE M MULTILINE Match NOFLAG Pattern PatternError RegexFlag S \
         Scanner T TEMPLATE U UNICODE VERBOSE X compile copy_reg copyreg enum error escape findall finditer \
         fullmatch functools match prefixmatch purge search split sre_compile sre_parse sub subn sys template",
    ),
    ("shlex", "StringIO TextIOWrapper deque join os quote re shlex split sys"),
    (
        "shutil",
        "COPY_BUFSIZE Error ExcInfo ExecError ReadError RegistryError SameFileError SpecialFileError WindowsError \
         abspath chown collections copy copy2 copyfile copyfileobj copymode copystat copytree disk_usage errno \
         fnmatch get_archive_formats get_terminal_size get_unpack_formats getgrnam getpwnam ignore_patterns \
         make_archive move nt os posix register_archive_format register_unpack_format rmtree stat sys \
         unpack_archive unregister_archive_format unregister_unpack_format warnings which",
    ),
    (
        "statistics",
        "Counter Decimal Fraction LinearRegression NormalDist StatisticsError acos asin atan bisect_left \
         bisect_right chain collections correlation cos cosh count covariance decimal defaultdict erf exp fabs \
         fmean fsum geometric_mean groupby harmonic_mean hypot isfinite isinf itemgetter kde kde_random \
         linear_regression log math mean median median_grouped median_high median_low mode mul multimode \
         namedtuple numbers pi pstdev pvariance quantiles random reduce repeat sin sqrt stdev sumprod sys tan tau \
         variance",
    ),
    (
        "string",
        "Formatter Pattern RegexFlag Template ascii_letters ascii_lowercase ascii_uppercase atof atof_error atoi \
         atoi_error atol atol_error capitalize capwords center count digits expandtabs find hexdigits index \
         index_error join joinfields letters ljust lower lowercase lstrip maketrans octdigits printable \
         punctuation replace rfind rindex rjust rsplit rstrip split splitfields strip swapcase sys templatelib \
         translate upper uppercase whitespace zfill",
    ),
    (
        "subprocess",
        "ABOVE_NORMAL_PRIORITY_CLASS BELOW_NORMAL_PRIORITY_CLASS CREATE_BREAKAWAY_FROM_JOB \
         CREATE_DEFAULT_ERROR_MODE CREATE_NEW_CONSOLE CREATE_NEW_PROCESS_GROUP CREATE_NO_WINDOW \
         CalledProcessError Collection CompletedProcess DETACHED_PROCESS DEVNULL HIGH_PRIORITY_CLASS \
         IDLE_PRIORITY_CLASS IO MAXFD NORMAL_PRIORITY_CLASS PIPE Popen REALTIME_PRIORITY_CLASS \
         STARTF_FORCEOFFFEEDBACK STARTF_FORCEONFEEDBACK STARTF_USESHOWWINDOW STARTF_USESTDHANDLES STARTUPINFO \
         STDOUT STD_ERROR_HANDLE STD_INPUT_HANDLE STD_OUTPUT_HANDLE SW_HIDE SubprocessError TimeoutExpired \
         TracebackType builtins call check_call check_output contextlib errno fcntl gc getoutput getstatusoutput \
         grp io list2cmdline locale mswindows os pickle pwd run select selectors signal sys threading time \
         traceback types warnings",
    ),
    (
        "tempfile",
        "GenericPath IO NamedTemporaryFile OpenBinaryMode OpenBinaryModeReading OpenBinaryModeUpdating \
         OpenBinaryModeWriting OpenTextMode SpooledTemporaryFile TMP_MAX TemporaryDirectory TemporaryFile \
         TracebackType gettempdir gettempdirb gettempprefix gettempprefixb io mkdtemp mkstemp mktemp sys tempdir \
         template",
    ),
    ("textwrap", "Pattern TextWrapper dedent fill indent re shorten string wrap"),
    (
        "threading",
        "Barrier BoundedSemaphore BrokenBarrierError Condition Context Event ExceptHookArgs Lock ProfileFunction \
         RLock Semaphore TIMEOUT_MAX Thread ThreadError Timer TraceFunction TracebackType WeakSet activeCount \
         active_count concurrent_tee currentThread current_thread enumerate excepthook functools get_ident \
         get_native_id getprofile gettrace local main_thread serialize_iterator setprofile setprofile_all_threads \
         settrace settrace_all_threads stack_size synchronized_iterator sys warnings",
    ),
    (
        "time",
        "CLOCK_BOOTTIME CLOCK_HIGHRES CLOCK_MONOTONIC CLOCK_MONOTONIC_RAW CLOCK_MONOTONIC_RAW_APPROX \
         CLOCK_PROCESS_CPUTIME_ID CLOCK_PROF CLOCK_REALTIME CLOCK_TAI CLOCK_THREAD_CPUTIME_ID CLOCK_UPTIME \
         CLOCK_UPTIME_RAW CLOCK_UPTIME_RAW_APPROX accept2dyear altzone asctime clock clock_getres clock_gettime \
         clock_gettime_ns clock_settime clock_settime_ns ctime daylight get_clock_info gmtime localtime mktime \
         monotonic monotonic_ns perf_counter perf_counter_ns process_time process_time_ns pthread_getcpuclockid \
         sleep strftime strptime struct_time structseq sys thread_time thread_time_ns time time_ns timezone \
         tzname tzset",
    ),
    (
        "typing",
        "ABCMeta AbstractAsyncContextManager AbstractContextManager AbstractSet Annotated Any AnyStr \
         AsyncContextManager AsyncGenerator AsyncIterable AsyncIterator Awaitable AwaitableGenerator BinaryIO \
         BuiltinFunctionType ByteString CT_co Callable CallableMeta ChainMap ClassVar CodeType Collection \
         Concatenate Container ContextManager Coroutine Counter DefaultDict Deque Dict EXCLUDED_ATTRIBUTES \
         EvaluateFunc Final Format ForwardRef FrozenSet FunctionType Generator Generic GenericAlias GenericMeta \
         Hashable IO IdentityFunction ItemsView Iterable Iterator KT KeysView List Literal LiteralString Mapping \
         MappingView Match MethodDescriptorType MethodType MethodWrapperType ModuleType MutableMapping \
         MutableSequence MutableSet NamedTuple NamedTupleMeta Never NewType NoDefault NoExtraItems NoReturn \
         NotRequired Optional OrderedDict ParamSpec ParamSpecArgs ParamSpecKwargs Pattern Protocol ReadOnly \
         ReadableBuffer Required Reversible Self Sequence Set Sized SupportsAbs SupportsBytes SupportsComplex \
         SupportsFloat SupportsGetItem SupportsGetItemViewable SupportsIndex SupportsInt SupportsKeysAndGetItem \
         SupportsRound T TYPE_CHECKING T_co T_contra Text TextIO TracebackType Tuple TupleMeta Type TypeAlias \
         TypeAliasType TypeForm TypeGuard TypeIs TypeVar TypeVarTuple TypedDict TypingMeta Union UnionType Unpack \
         VT VT_co V_co ValuesView Viewable WrapperDescriptorType abc abstractmethod abstractproperty assert_never \
         assert_type cast clear_overloads collections collections_abc contextlib copyreg dataclass_transform \
         defaultdict deprecated dict_items dict_keys dict_values disjoint_base evaluate_forward_ref final \
         functools get_args get_origin get_overloads get_protocol_members get_type_hints io is_protocol \
         is_typeddict no_type_check no_type_check_decorator operator overload override re reveal_type \
         runtime_checkable stdlib_re sys type_check_only types typing_extensions warnings",
    ),
    (
        "uuid",
        "Enum MAX NAMESPACE_DNS NAMESPACE_OID NAMESPACE_URL NAMESPACE_X500 NIL RESERVED_FUTURE RESERVED_MICROSOFT \
         RESERVED_NCS RFC_4122 SafeUUID UUID builtins bytes_ ctypes getnode int_ lib libname main os platform sys \
         uuid1 uuid3 uuid4 uuid5 uuid6 uuid7 uuid8",
    ),
];

/// Returns whether a module of the standard library surely has no member of a name.
pub(super) fn lacks(module: &str, name: &str) -> bool {
    let Ok(at) = MODULES.binary_search_by_key(&module, |(module, _)| module) else { return false };
    !name.starts_with('_') && !MODULES[at].1.split(' ').any(|member| member == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_in_their_order_and_have_members_of_old_and_new_versions() {
        assert!(MODULES.is_sorted_by_key(|(module, _)| module));
        let cases = [
            ("os.path", "normpath", false),
            ("os.path", "normalise", true),
            ("datetime", "now", true),
            ("datetime", "UTC", false),
            ("itertools", "batched", false),
            ("string", "maketrans", false),
            ("json", "parse", true),
            ("json", "_default_decoder", false),
            ("json", "__name__", false),
            ("pydantic", "parse", false),
        ];
        for (module, name, expected) in cases {
            assert_eq!(lacks(module, name), expected, "{module}.{name}");
        }
    }
}
