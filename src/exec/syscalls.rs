//! System call filter of commands: no sockets, no access to other processes' memory, no kernel features that builds and
//! tests do not need.
//!
//! Newer calls that these lists do not know are refused as unimplemented, which programs expect from older kernels.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};

/// Calls that no build or test needs.
const NEVER: &[i64] = &[
    // Other processes.
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_perf_event_open,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    // Calls that filters do not see.
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    // Code and pages inside the kernel.
    libc::SYS_vmsplice,
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_memfd_secret,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    // Keys, and objects that outlive processes.
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmdt,
    libc::SYS_shmget,
    libc::SYS_semctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_msgctl,
    libc::SYS_msgget,
    libc::SYS_msgrcv,
    libc::SYS_msgsnd,
    libc::SYS_mq_getsetattr,
    libc::SYS_mq_notify,
    libc::SYS_mq_open,
    libc::SYS_mq_timedreceive,
    libc::SYS_mq_timedsend,
    libc::SYS_mq_unlink,
    // Other views of the machine.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    // Files without a path, and notifications about all files.
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    // The machine itself.
    libc::SYS_acct,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_reboot,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_vhangup,
];

#[cfg(target_arch = "x86_64")]
const NEVER_HERE: &[i64] = &[
    libc::SYS_kexec_file_load,
    libc::SYS_ioperm,
    libc::SYS_iopl,
    libc::SYS_modify_ldt,
    libc::SYS__sysctl,
    libc::SYS_uselib,
    libc::SYS_ustat,
];
/// `kexec_file_load` by its number in the kernel's generic table, since `libc` has no name for it with musl.
#[cfg(not(target_arch = "x86_64"))]
const NEVER_HERE: &[i64] = &[294];

/// Extended attributes, which Landlock does not restrict. Refused as on a file system without attributes.
const ATTRIBUTES: &[i64] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
];

/// Calls that create or connect sockets.
const SOCKETS: &[i64] = &[
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_bind,
    libc::SYS_connect,
    libc::SYS_listen,
    libc::SYS_socket,
];

/// The newest call that these lists consider (`mseal`).
const LAST_KNOWN: u32 = 462;
/// Numbers of the third x86 calling convention begin here; the kernel reports it as the first.
const X32: u32 = 0x4000_0000;
/// Flags of `clone` that create namespaces.
const NAMESPACES: &[libc::c_int] = &[
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];
/// Requests that insert input into a terminal. `libc` gives them different types on different targets.
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541c;
/// Mask of a socket's kind, without its flags.
const KIND: u64 = 0xf;

/// Applies the filter to this thread, which has to be the only one, irrevocably.
pub(super) fn restrict(network: bool) -> Result<(), String> {
    let program = program(network).map_err(|error| error.to_string())?;
    seccompiler::apply_filter(&program).map_err(|error| error.to_string())
}

fn program(network: bool) -> Result<BpfProgram, seccompiler::Error> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    rules.extend(NEVER.iter().chain(NEVER_HERE).map(|call| (*call, Vec::new())));
    if network {
        rules.insert(libc::SYS_socket, all_but_internet()?);
    } else {
        rules.extend(SOCKETS.iter().map(|call| (*call, Vec::new())));
    }
    rules.insert(libc::SYS_socketpair, all_but_connected_pairs()?);
    let namespaces = NAMESPACES.iter().map(|flag| {
        let flag = u64::from(*flag as u32);
        rule(&[(0, SeccompCmpOp::MaskedEq(flag), flag)])
    });
    rules.insert(libc::SYS_clone, namespaces.collect::<Result<_, _>>()?);
    let typing = [TIOCSTI, TIOCLINUX];
    let typing = typing.into_iter().map(|request| rule(&[(1, SeccompCmpOp::Eq, request)]));
    rules.insert(libc::SYS_ioctl, typing.collect::<Result<_, _>>()?);
    // Limits and priorities of other processes; 0 is the calling process.
    rules.insert(libc::SYS_prlimit64, vec![rule(&[(0, SeccompCmpOp::Ne, 0)])?]);
    let of_others = [(0, libc::PRIO_PROCESS as u64), (1, 0)];
    let of_others = of_others.into_iter().map(|(argument, own)| rule(&[(argument, SeccompCmpOp::Ne, own)]));
    rules.insert(libc::SYS_setpriority, of_others.collect::<Result<_, _>>()?);

    let denied = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, denied, architecture)?;
    let mut program: BpfProgram = filter.try_into()?;
    let at = match program.iter().position(|step| *step == load_number()) {
        Some(load) => load + 1,
        None => 0,
    };
    program.splice(at..at, by_number_alone());
    Ok(program)
}

/// Returns rules that refuse sockets except those of the internet and of the kernel's routing tables, which resolvers read.
///
/// Unix sockets stay refused with `network`: one may lead to a container engine, which controls the machine.
fn all_but_internet() -> Result<Vec<SeccompRule>, seccompiler::Error> {
    let [inet, inet6, netlink] =
        [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK].map(|family| family as u64);
    let other_families = [inet, inet6, netlink].map(|family| (0, SeccompCmpOp::Ne, family));
    Ok(vec![
        rule(&other_families)?,
        raw_sockets(inet)?,
        raw_sockets(inet6)?,
        rule(&[(0, SeccompCmpOp::Eq, netlink), (2, SeccompCmpOp::Ne, libc::NETLINK_ROUTE as u64)])?,
    ])
}

fn raw_sockets(family: u64) -> Result<SeccompRule, seccompiler::Error> {
    rule(&[(0, SeccompCmpOp::Eq, family), (1, SeccompCmpOp::MaskedEq(KIND), libc::SOCK_RAW as u64)])
}

/// Returns rules that refuse pairs of another family, and of kinds that address each message separately.
fn all_but_connected_pairs() -> Result<Vec<SeccompRule>, seccompiler::Error> {
    let kinds = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET].map(|kind| kind as u64);
    // A kind has four bits.
    let others = (0..=KIND).filter(|kind| !kinds.contains(kind));
    let mut rules = vec![rule(&[(0, SeccompCmpOp::Ne, libc::AF_UNIX as u64)])?];
    for kind in others {
        rules.push(rule(&[(1, SeccompCmpOp::MaskedEq(KIND), kind)])?);
    }
    Ok(rules)
}

/// Returns a rule that matches if all conditions on arguments do. The kernel treats these arguments as 32 bits.
fn rule(conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule, seccompiler::Error> {
    let conditions = conditions.iter().map(|(argument, operator, value)| {
        SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, operator.clone(), *value)
    });
    Ok(SeccompRule::new(conditions.collect::<Result<_, _>>()?)?)
}

const fn step(code: u32, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt, jf, k }
}

/// Returns the instruction that loads the number of the call, after the architecture was checked.
const fn load_number() -> sock_filter {
    step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0)
}

/// Returns the step that refuses a call with an error.
fn refuse(errno: i32) -> sock_filter {
    step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | errno as u32)
}

/// Returns the step that skips the next one unless the call's number is at least `number`.
fn unless_from(number: u32) -> sock_filter {
    step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, number)
}

/// Returns the step that skips the next one unless the call's number is `number`.
fn unless_equal(number: i64) -> sock_filter {
    step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, number as u32)
}

/// Returns the steps that refuse calls by their number, with errors other than "not permitted".
fn by_number_alone() -> Vec<sock_filter> {
    let mut steps =
        vec![unless_from(X32), refuse(libc::EPERM), unless_from(LAST_KNOWN + 1), refuse(libc::ENOSYS)];
    // Its arguments cannot be inspected; C libraries use `clone` then.
    steps.extend([unless_equal(libc::SYS_clone3), refuse(libc::ENOSYS)]);
    for call in ATTRIBUTES {
        steps.extend([unless_equal(*call), refuse(libc::ENOTSUP)]);
    }
    steps
}
