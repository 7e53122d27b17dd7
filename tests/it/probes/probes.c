/* Attempts of a command to get out of its fence, each by doing it. Prints one line for each: its name, and `hit` when it
 * worked, else `blocked` with the reason.
 *
 * probes OUTSIDE VICTIM PORT CANARY
 *
 * OUTSIDE is a directory that anybody may write to. VICTIM is a process of whoever runs the gate. PORT is one that
 * somebody listens at, on the loopback addresses. CANARY is what stands in the victim's environment. Each attempt is
 * made in a process of its own, so that one which is killed says so and spoils no other.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/if_packet.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static const char *outside, *canary;
static int port;
static pid_t victim, keeper;

/* The result of an attempt: 1 when it worked. Otherwise errno says why not. */
typedef int attempt(void);

static char *at(const char *name) {
    static char paths[4][4096];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", outside, name);
    return path;
}

static char *of_victim(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)victim, name);
    return path;
}

static int opens(const char *path, int flags) { return open(path, flags | O_CLOEXEC, 0644) >= 0; }

static int reads(const char *path) {
    char byte;
    int file = open(path, O_RDONLY);
    return file >= 0 && read(file, &byte, 1) >= 0;
}

static int lists(const char *path) {
    DIR *directory = opendir(path);
    return directory && readdir(directory);
}

static int zero(long result) { return result == 0; }
static int there(long result) { return result >= 0; }
/* A call that came to its arguments was not refused, whatever they are. */
static int reached(long result) { return result >= 0 || (errno != EPERM && errno != ENOSYS); }

/* Files. */
static int read_world_readable(void) { return reads(at("world")); }
static int read_secret(void) { return reads(at("secret")); }
static int list_directory(void) { return lists(outside); }
static int write_file(void) { return opens(at("bait"), O_WRONLY | O_APPEND); }
static int truncate_file(void) { return zero(truncate(at("bait"), 0)); }
static int open_truncating(void) { return opens(at("bait"), O_WRONLY | O_TRUNC); }
static int create_file(void) { return opens(at("created"), O_WRONLY | O_CREAT | O_EXCL); }
static int unlink_file(void) { return zero(unlink(at("to-unlink"))); }
static int rename_file(void) { return zero(rename(at("to-rename"), at("renamed"))); }
static int rename_out(void) { return opens("mine", O_WRONLY | O_CREAT) && zero(rename("mine", at("from-inside"))); }
static int rename_in(void) { return zero(rename(at("to-take"), "taken")); }
static int make_directory(void) { return zero(mkdir(at("directory"), 0755)); }
static int make_fifo(void) { return zero(mkfifo(at("fifo"), 0644)); }
static int make_link(void) { return zero(symlink("/", at("link"))); }
static int make_hard_link(void) { return zero(link(at("bait"), "hard")); }
static int read_through_link(void) { return zero(symlink(at("world"), "to-world")) && reads("to-world"); }
static int write_through_link(void) {
    return zero(symlink(at("bait"), "to-bait")) && opens("to-bait", O_WRONLY | O_APPEND);
}
static int append_file_command(void) { return opens(at("file_commands/set_env"), O_WRONLY | O_APPEND); }
static int run_file(void) {
    execl(at("tool"), "tool", (char *)0);
    return 0;
}
static int change_mode(void) { return zero(chmod(at("bait"), 0666)); }
static int change_owner(void) { return zero(chown(at("bait"), getuid(), getgid())); }
static int change_times(void) { return zero(utimensat(AT_FDCWD, at("bait"), (struct timespec[2]){{1, 0}, {1, 0}}, 0)); }
static int set_attribute(void) { return zero(setxattr(at("bait"), "user.probe", "x", 1, 0)); }
static int set_attribute_newly(void) {
    struct { unsigned long value; unsigned size, flags; } arguments = {(unsigned long)"x", 1, 0};
    return zero(syscall(463, AT_FDCWD, at("bait"), 0, "user.probe", &arguments, sizeof arguments));
}
static int stat_file(void) {
    struct stat status;
    return zero(stat(at("world"), &status));
}
static int read_shadow(void) { return reads("/etc/shadow"); }
static int set_core_pattern(void) { return opens("/proc/sys/kernel/core_pattern", O_WRONLY); }
static int file_by_handle(void) {
    struct { struct file_handle handle; char room[128]; } handle = {.handle.handle_bytes = 128};
    int mount;
    return zero(syscall(SYS_name_to_handle_at, AT_FDCWD, at("world"), &handle, &mount, 0));
}
static int watch_all_files(void) { return there(syscall(SYS_fanotify_init, 0, 0)); }

/* Processes. */
static int read_environment(void) { return reads(of_victim("environ")); }
static int find_canary(void) {
    DIR *directory = opendir("/proc");
    struct dirent *entry;
    char path[512], text[65536];
    while (directory && (entry = readdir(directory))) {
        if (atoi(entry->d_name) == getpid()) continue;
        snprintf(path, sizeof path, "/proc/%s/environ", entry->d_name);
        int file = open(path, O_RDONLY);
        ssize_t count = file < 0 ? 0 : read(file, text, sizeof text);
        if (count > 0 && memmem(text, count, canary, strlen(canary))) return 1;
        if (file >= 0) close(file);
    }
    errno = EACCES;
    return 0;
}
static int open_memory(void) { return opens(of_victim("mem"), O_RDONLY); }
static int read_maps(void) { return reads(of_victim("maps")); }
static int list_root(void) { return lists(of_victim("root/")); }
static int list_current(void) { return lists(of_victim("cwd/")); }
static int list_open_files(void) { return lists(of_victim("fd")); }
static int read_command_line(void) { return reads(of_victim("cmdline")); }
static int trace_attach(void) { return zero(ptrace(PTRACE_ATTACH, victim, 0, 0)); }
static int trace_seize(void) { return zero(ptrace(PTRACE_SEIZE, victim, 0, 0)); }
static int read_memory(void) {
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)8, 1};
    /* The address is not mapped; to be told so is to be let in. */
    return process_vm_readv(victim, &here, 1, &there, 1, 0) >= 0 || errno == EFAULT;
}
static int take_open_file(void) {
    int process = syscall(SYS_pidfd_open, victim, 0);
    return process >= 0 && there(syscall(SYS_pidfd_getfd, process, 0, 0));
}
static int compare_processes(void) { return there(syscall(SYS_kcmp, victim, victim, 0, 0, 0)); }
static int signal_victim(void) { return zero(kill(victim, 0)); }
static int signal_keeper(void) { return zero(kill(keeper, 0)); }
static int signal_first(void) { return zero(kill(1, 0)); }
static int signal_by_handle(void) {
    int process = syscall(SYS_pidfd_open, victim, 0);
    return process >= 0 && zero(syscall(SYS_pidfd_send_signal, process, 0, 0, 0));
}
static int limit_victim(void) {
    struct rlimit limit;
    return zero(prlimit(victim, RLIMIT_NOFILE, 0, &limit)) && zero(prlimit(victim, RLIMIT_NOFILE, &limit, 0));
}
static int slow_victim(void) { return zero(setpriority(PRIO_PROCESS, victim, 0)); }
static int bind_victim(void) {
    cpu_set_t all;
    return zero(sched_getaffinity(victim, sizeof all, &all)) && zero(sched_setaffinity(victim, sizeof all, &all));
}
static int doom_victim(void) { return opens(of_victim("oom_score_adj"), O_WRONLY); }

/* Networks. */
static int inet(int type, int protocol) { return socket(AF_INET, type, protocol); }
static struct sockaddr_in here4(void) {
    return (struct sockaddr_in){AF_INET, htons(port), {htonl(INADDR_LOOPBACK)}, {0}};
}
static int connects(int from) {
    struct sockaddr_in address = here4();
    return from >= 0 && zero(connect(from, (void *)&address, sizeof address));
}
static int connect_tcp(void) { return connects(inet(SOCK_STREAM, 0)); }
static int connect_mptcp(void) { return connects(inet(SOCK_STREAM, 262)); }
static int connect_fast_open(void) {
    struct sockaddr_in address = here4();
    int from = inet(SOCK_STREAM, 0);
    return from >= 0 && there(sendto(from, "x", 1, MSG_FASTOPEN, (void *)&address, sizeof address));
}
static int bind_tcp(void) {
    struct sockaddr_in address = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}, {0}};
    int from = inet(SOCK_STREAM, 0);
    return from >= 0 && zero(bind(from, (void *)&address, sizeof address)) && zero(listen(from, 1));
}
static int send_udp(void) {
    struct sockaddr_in address = here4();
    int from = inet(SOCK_DGRAM, 0);
    return from >= 0 && there(sendto(from, "x", 1, 0, (void *)&address, sizeof address));
}
static int make_tcp6(void) { return there(socket(AF_INET6, SOCK_STREAM, 0)); }
static int make_udp6(void) { return there(socket(AF_INET6, SOCK_DGRAM, 0)); }
static int make_netlink(void) { return there(socket(AF_NETLINK, SOCK_RAW, 0)); }
static int make_raw(void) { return there(inet(SOCK_RAW, IPPROTO_ICMP)); }
static int make_packet(void) { return there(socket(AF_PACKET, SOCK_RAW, 0)); }
static int make_vsock(void) { return reached(socket(AF_VSOCK, SOCK_STREAM, 0)); }
static int make_crypto(void) { return reached(socket(AF_ALG, SOCK_SEQPACKET, 0)); }
static int make_sctp(void) { return reached(inet(SOCK_STREAM, IPPROTO_SCTP)); }
static int to_unix(int from, const char *name) {
    struct sockaddr_un address = {AF_UNIX, {0}};
    strncpy(address.sun_path, name, sizeof address.sun_path - 1);
    return from >= 0 && zero(connect(from, (void *)&address, sizeof address));
}
static int connect_path(void) { return to_unix(socket(AF_UNIX, SOCK_STREAM, 0), at("socket")); }
static int connect_abstract(void) {
    struct sockaddr_un address = {AF_UNIX, {0}};
    int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s", canary);
    int from = socket(AF_UNIX, SOCK_STREAM, 0);
    return from >= 0 && zero(connect(from, (void *)&address, sizeof(sa_family_t) + 1 + length));
}
static int send_from_pair(void) {
    struct sockaddr_un address = {AF_UNIX, {0}};
    int pair[2];
    strncpy(address.sun_path, at("datagrams"), sizeof address.sun_path - 1);
    return zero(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair))
        && there(sendto(pair[0], "x", 1, 0, (void *)&address, sizeof address));
}
static int reconnect_pair(void) {
    int pair[2];
    return zero(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair)) && to_unix(pair[0], at("datagrams"));
}
static int socket_of_32_bits(void) {
#ifdef __x86_64__
    long result;
    /* socketcall(SYS_SOCKET, arguments) with the arguments where 32 bits reach. */
    unsigned *low = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    low[0] = AF_INET, low[1] = SOCK_STREAM, low[2] = 0;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(102), "b"(1), "c"(low) : "memory", "r8", "r9", "r10", "r11");
    errno = result < 0 ? (int)-result : 0;
    return result >= 0;
#else
    errno = ENOSYS;
    return 0;
#endif
}
static int socket_of_x32(void) { return there(syscall(0x40000000L | SYS_socket, AF_INET, SOCK_STREAM, 0)); }
static int rings(void) {
    char parameters[256] = {0};
    return there(syscall(425, 1, parameters));
}

/* The kernel. */
static int unshare_user(void) { return zero(unshare(CLONE_NEWUSER)); }
static int unshare_network(void) { return zero(unshare(CLONE_NEWNET)); }
static int child_in_namespace(int newer) {
    struct { unsigned long long flags, rest[10]; } arguments = {newer ? CLONE_NEWUSER : 0, {0}};
    arguments.rest[3] = SIGCHLD;
    long child = newer ? syscall(SYS_clone3, &arguments, 88) : syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
    if (child == 0) _exit(0);
    return there(child);
}
static int clone_user(void) { return child_in_namespace(0); }
static int clone3_user(void) { return child_in_namespace(1); }
static int join_namespace(void) {
    int other = open("/proc/self/ns/net", O_RDONLY);
    return other >= 0 && zero(setns(other, 0));
}
static int mount_tmpfs(void) { return zero(mkdir("mnt", 0755)) && zero(mount("none", "mnt", "tmpfs", 0, 0)); }
static int open_mount_tree(void) { return there(syscall(SYS_open_tree, AT_FDCWD, "/", 1)); }
static int change_root(void) { return zero(chroot(".")); }
static int load_bpf(void) { return reached(syscall(SYS_bpf, 5, 0, 0)); }
static int fault_in_user(void) { return there(syscall(SYS_userfaultfd, 0)); }
static int fault_in_user_mode(void) { return there(syscall(SYS_userfaultfd, 1)); }
static int count_events(void) { return reached(syscall(SYS_perf_event_open, 0, 0, -1, -1, 0)); }
static int add_key(void) { return there(syscall(SYS_add_key, "user", "probe", "x", 1, -3)); }
static int find_key(void) { return reached(syscall(SYS_keyctl, 0, -3, 1)); }
static int share_memory(void) { return there(shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600)); }
static int send_message(void) { return there(msgget(IPC_PRIVATE, IPC_CREAT | 0600)); }
static int make_semaphore(void) { return there(semget(IPC_PRIVATE, 1, IPC_CREAT | 0600)); }
static int make_queue(void) { return there(syscall(SYS_mq_open, "probe", O_RDWR | O_CREAT, 0600, 0)); }
static int keep_pages(void) {
    int ends[2];
    struct iovec byte = {"x", 1};
    return zero(pipe(ends)) && vmsplice(ends[1], &byte, 1, 0) == 1;
}
static int secret_memory(void) { return reached(syscall(447, 0)); }
static int load_module(void) { return reached(syscall(SYS_init_module, 0, 0, "")); }
static int load_kernel(void) { return reached(syscall(SYS_kexec_load, 0, 0, 0, 0xffffUL << 16)); }
static int set_time(void) { return reached(syscall(SYS_settimeofday, 0, 0)); }
static int adjust_time(void) {
    char buffer[512] = {0};
    return reached(syscall(SYS_adjtimex, buffer));
}
static int set_host_name(void) { return reached(syscall(SYS_sethostname, 0, -1)); }
static int add_swap(void) { return reached(syscall(SYS_swapon, "/nonexistent", 0)); }
static int read_kernel_log(void) { return there(syscall(SYS_syslog, 10, 0, 0)); }
static int account(void) { return reached(syscall(SYS_acct, "/nonexistent")); }
static int newer_call(void) { return reached(syscall(467, -1, 0, 0, 0, 0)); }

/* Rights. */
static int become_root(void) { return zero(setuid(0)); }
static int become_root_group(void) { return zero(setgid(0)); }
static int join_groups(void) { return zero(setgroups(1, (gid_t[]){0})); }
static int regain_privileges(void) { return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0; }
static int raise_core_limit(void) { return zero(setrlimit(RLIMIT_CORE, &(struct rlimit){4096, 4096})); }
static int raise_process_limit(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NPROC, &limit);
    limit.rlim_cur = limit.rlim_max = limit.rlim_max == RLIM_INFINITY ? limit.rlim_max : limit.rlim_max + 1;
    return zero(setrlimit(RLIMIT_NPROC, &limit));
}
static int inherited_file(void) {
    for (int file = 3; file < 1024; file++)
        if (fcntl(file, F_GETFD) >= 0) return 1;
    errno = EBADF;
    return 0;
}
static int type_into_terminal(void) { return reached(ioctl(0, TIOCSTI, "x")); }
static int open_terminal(void) { return opens("/dev/tty", O_RDWR); }

/* What must work. */
static int pair_of_sockets(void) {
    int pair[2];
    char byte;
    return zero(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) && write(pair[0], "x", 1) == 1
        && read(pair[1], &byte, 1) == 1;
}
static int write_here(void) { return opens("here", O_WRONLY | O_CREAT) && zero(rename("here", "there")); }
static int write_temporary(void) {
    char path[4096];
    snprintf(path, sizeof path, "%s/file", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    return opens(path, O_WRONLY | O_CREAT);
}
static int write_null(void) { return opens("/dev/null", O_WRONLY); }
static int start_thread(void) {
    int child = fork();
    if (child == 0) _exit(7);
    int status;
    return waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7;
}
static int memory_file(void) { return there(memfd_create("x", 0)); }
static int semaphore_file(void) {
    char path[64];
    snprintf(path, sizeof path, "/dev/shm/qa-skill-probe-%d", (int)getpid());
    return opens(path, O_RDWR | O_CREAT | O_EXCL) && zero(unlink(path));
}

#define PROBE(name) {#name, name}
static const struct { const char *name; attempt *attempt; } probes[] = {
    PROBE(read_world_readable), PROBE(read_secret), PROBE(list_directory), PROBE(write_file), PROBE(truncate_file),
    PROBE(open_truncating), PROBE(create_file), PROBE(unlink_file), PROBE(rename_file), PROBE(rename_out),
    PROBE(rename_in), PROBE(make_directory), PROBE(make_fifo), PROBE(make_link), PROBE(make_hard_link),
    PROBE(read_through_link), PROBE(write_through_link), PROBE(append_file_command), PROBE(run_file),
    PROBE(change_mode), PROBE(change_owner), PROBE(change_times), PROBE(set_attribute), PROBE(set_attribute_newly),
    PROBE(stat_file), PROBE(read_shadow), PROBE(set_core_pattern), PROBE(file_by_handle), PROBE(watch_all_files),
    PROBE(read_environment), PROBE(find_canary), PROBE(open_memory), PROBE(read_maps), PROBE(list_root),
    PROBE(list_current), PROBE(list_open_files), PROBE(read_command_line), PROBE(trace_attach), PROBE(trace_seize),
    PROBE(read_memory), PROBE(take_open_file), PROBE(compare_processes), PROBE(signal_victim), PROBE(signal_keeper),
    PROBE(signal_first), PROBE(signal_by_handle), PROBE(limit_victim), PROBE(slow_victim), PROBE(bind_victim), PROBE(doom_victim),
    PROBE(connect_tcp), PROBE(connect_mptcp), PROBE(connect_fast_open), PROBE(bind_tcp), PROBE(send_udp),
    PROBE(make_tcp6), PROBE(make_udp6), PROBE(make_netlink), PROBE(make_raw), PROBE(make_packet), PROBE(make_vsock),
    PROBE(make_crypto), PROBE(make_sctp), PROBE(connect_path), PROBE(connect_abstract), PROBE(send_from_pair),
    PROBE(reconnect_pair), PROBE(socket_of_32_bits), PROBE(socket_of_x32), PROBE(rings), PROBE(unshare_user),
    PROBE(unshare_network), PROBE(clone_user), PROBE(clone3_user), PROBE(join_namespace), PROBE(mount_tmpfs),
    PROBE(open_mount_tree), PROBE(change_root), PROBE(load_bpf), PROBE(fault_in_user), PROBE(fault_in_user_mode),
    PROBE(count_events), PROBE(add_key), PROBE(find_key), PROBE(share_memory), PROBE(send_message),
    PROBE(make_semaphore), PROBE(make_queue), PROBE(secret_memory), PROBE(load_module), PROBE(load_kernel),
    PROBE(set_time), PROBE(adjust_time), PROBE(set_host_name), PROBE(add_swap), PROBE(read_kernel_log),
    PROBE(account), PROBE(newer_call), PROBE(become_root), PROBE(become_root_group), PROBE(join_groups),
    PROBE(regain_privileges), PROBE(raise_core_limit), PROBE(raise_process_limit), PROBE(inherited_file),
    PROBE(type_into_terminal), PROBE(open_terminal), PROBE(keep_pages),
    /* Controls. */
    PROBE(pair_of_sockets), PROBE(write_here), PROBE(write_temporary), PROBE(write_null), PROBE(start_thread),
    PROBE(memory_file), PROBE(semaphore_file),
};

int main(int count, char **arguments) {
    if (count != 5) return 2;
    outside = arguments[1], victim = atoi(arguments[2]), port = atoi(arguments[3]), canary = arguments[4];
    keeper = getppid();
    for (size_t each = 0; each < sizeof probes / sizeof *probes; each++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            errno = 0;
            int hit = probes[each].attempt(), reason = errno;
            printf("%s %s%s\n", probes[each].name, hit ? "hit" : "blocked ", hit ? "" : strerror(reason));
            fflush(stdout);
            _exit(0);
        }
        waitpid(child, &status, 0);
        if (WIFSIGNALED(status)) {
            printf("%s blocked killed by signal %d\n", probes[each].name, WTERMSIG(status));
            fflush(stdout);
        }
    }
    return 0;
}
