//! The process: the supervisor of commands, or signals, then the library.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // First, because a supervisor must have one thread.
    #[cfg(target_os = "linux")]
    if let Some(exit) = qa_skill::run_supervisor(std::env::args_os()) {
        return exit;
    }
    qa_skill::main_with(std::env::args_os(), watch_signals)
}

/// Ends the run at the first signal and the process at the second. The first process of a container has no default action
/// for signals.
fn watch_signals(cancel: Box<dyn Fn() + Send>) {
    let watch = async move {
        use tokio::signal::unix::{SignalKind, signal};
        let (Ok(mut interrupt), Ok(mut terminate)) =
            (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
        else {
            return;
        };
        for signals in 0.. {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if signals > 0 {
                std::process::exit(130);
            }
            cancel();
        }
    };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
    // Without the thread, signals end the process by their default action.
    let _no_thread = std::thread::Builder::new().spawn(move || runtime.block_on(watch));
}
