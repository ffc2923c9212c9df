//! Names in Python and JavaScript that only read, and names that change something.

/// Functions that read, or that have nothing to do with files.
pub(in crate::policy) const READS: &str = "require readFileSync readFile existsSync statSync lstatSync readdirSync readdir parse stringify log \
    error warn info debug keys values entries fromEntries map filter find findIndex findLast some every \
    forEach reduce reduceRight slice join split trim trimEnd trimStart includes indexOf lastIndexOf \
    startsWith endsWith toString String Number Boolean Array Object BigInt Date RegExp Error Map Set \
    WeakMap URL Promise parseInt parseFloat isNaN then catch finally text json sort toSorted push pop \
    shift unshift concat flat flatMap isArray readJsonSync table dir from of has add test match matchAll \
    search replace replaceAll toLowerCase toUpperCase toFixed toISOString padStart padEnd repeat at \
    charAt charCodeAt codePointAt substring substr localeCompare normalize hasOwn hasOwnProperty freeze \
    all allSettled race resolve reject dirname basename extname relative isAbsolute cwd exit now getTime \
    floor ceil round abs min max inspect structuredClone setTimeout assign fileURLToPath pathToFileURL \
    isFile isDirectory time timeEnd assert equal deepEqual ok strictEqual reverse toReversed \
    cpus platform tmpdir homedir hostname readTextFile readTextFileSync file hrtime memoryUsage exec print load loads dumps safe_load \
    safe_load_all safe_dump read readlines readline read_text read_bytes len get items str int float \
    list dict sorted sum any range enumerate exists isfile isdir islink format strip lstrip rstrip \
    splitlines startswith endswith set frozenset repr isinstance issubclass hasattr Path PurePath pprint \
    pformat zip getsize getmtime stat type tuple bool bytes ord chr hex upper lower title capitalize \
    casefold count index rfind append extend insert update setdefault findall finditer fullmatch sub \
    subn compile group groups groupdict span escape Counter defaultdict OrderedDict namedtuple deque \
    most_common elements listdir scandir walk getcwd getenv glob iglob rglob iterdir is_file is_dir \
    is_symlink relative_to with_suffix with_name as_posix absolute expanduser expandvars abspath \
    realpath relpath splitext normpath commonpath fnmatch encode decode b64encode b64decode hexdigest \
    digest sha256 sha1 md5 datetime date timedelta today strftime strptime isoformat fromisoformat \
    reversed next iter partial lru_cache chain groupby islice product zfill ljust rjust center partition \
    rpartition isdigit isalpha isalnum isupper islower isspace difference union intersection issubset \
    issuperset copy deepcopy dedent indent fill wrap reader DictReader literal_eval parse_args \
    ArgumentParser add_argument mean median stdev pow divmod id hash callable sleep perf_counter \
    unified_diff ndiff context_diff get_close_matches ConfigParser read_string sections options getint \
    getboolean SystemExit Exception ValueError KeyError StringIO BytesIO getvalue tell seek close super \
    dataclass field itemgetter attrgetter total_seconds yaml quote unquote urlparse findone iter_modules \
    distribution version discard popitem clear flush writer writerow writerows DictWriter writeheader";

/// Words before a parenthesis that is no call.
pub(in crate::policy) const GROUPS: &str = "if for while in and or not return of is with assert await async switch typeof elif lambda function \
    except raise yield else case void throw do delete from import catch constructor";

/// Parts of names of functions that change something, or that run text.
const CHANGES: &str = "write unlink rmsync append truncate rename copyfile chmod child_process subprocess spawn system \
    remove shutil eval getattr setattr __ symlink utime chown popen fork reflect globalthis binding \
    outputfile outputjson ensurefile emptydir movesync cpsync copysync linksync mkfifo mknod rmtree \
    rmdir rimraf hardlink_to fileinput importlib ctypes builtins mmap runpy opensync sendfile unsafe \
    pickle marshal mainmodule fdopen";

/// Names that change something, whole.
const WHOLE: &str = "rm cp mv link touch exec Function global Proxy vm globals locals vars posix nt modules dump save outputFile \
    copytree move opener truncate io_open module";

/// Names with such parts that are harmless where they are called as methods of values.
const HARMLESS: &str = "append remove __name__ __main__ __file__ __doc__ __version__ __init__ __repr__ __str__ __len__ \
    __iter__ __getitem__ __eq__ __hash__ __contains__ __all__ __enter__ __exit__ __call__ writer \
    writerow writerows writeheader DictWriter literal_eval appendChild system_prompt retrieval evaluate";

/// What is read with `os` of Python.
pub(in crate::policy) const OS_READS: &str = "path listdir getcwd environ walk stat scandir getenv sep linesep access R_OK X_OK F_OK getpid \
    cpu_count lstat readlink name PathLike fspath get_terminal_size getlogin getuid";

/// What is read with `fs` of Node.
pub(in crate::policy) const FS_READS: &str = "promises readFileSync readFile existsSync exists statSync stat lstatSync lstat readdirSync readdir \
    realpathSync realpath readlinkSync readlink accessSync access constants createReadStream";

/// Modules of Node that do not change files.
pub(in crate::policy) const MODULES: &str = "path os util url assert readline events crypto querystring string_decoder buffer perf_hooks \
    assert/strict yaml js-yaml semver glob fast-glob typescript lodash chalk ajv zod toml json5 \
    jsonc-parser";

/// Whether a list has a word.
pub(in crate::policy) fn has(words: &str, word: &str) -> bool {
    words.split(' ').any(|known| known == word)
}

/// Whether a name may change something, wherever it stands; `method`: it is called on a value.
pub(in crate::policy) fn changes(word: &str, method: bool) -> bool {
    if has(HARMLESS, word) && (method || word.starts_with("__")) {
        return false;
    }
    // Names of other scripts are compared by their shape in some languages.
    !word.is_ascii() || has(WHOLE, word) || {
        let lower = word.to_lowercase();
        CHANGES.split(' ').any(|part| lower.contains(part))
    }
}
