//! Reading from the terminal what must not be seen on it.

use std::io;

/// Reads a line from the terminal on standard input without showing it; `None` when the user gave up (Ctrl-C, Ctrl-D).
/// `ask` writes the prompt. It comes once the terminal is hidden: what is typed before that is shown, and so thrown away,
/// and who answers at the first sight of the prompt must not lose the answer.
///
/// # Errors
/// When standard input is no terminal, or cannot be read; the error of `ask`.
#[cfg(unix)]
pub fn read_hidden(ask: impl FnOnce() -> io::Result<()>) -> io::Result<Option<String>> {
    use rustix::stdio::stdin;
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

    let shown = tcgetattr(stdin())?;
    let mut hidden = shown.clone();
    // Without signals the process cannot be ended in between and leave a terminal that shows nothing.
    hidden.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
    tcsetattr(stdin(), OptionalActions::Flush, &hidden)?;
    let line = ask().and_then(|()| read_keys());
    tcsetattr(stdin(), OptionalActions::Flush, &shown)?;
    line
}

#[cfg(unix)]
fn read_keys() -> io::Result<Option<String>> {
    let mut line = vec![];
    loop {
        let mut key = [0_u8];
        if rustix::io::read(rustix::stdio::stdin(), &mut key)? == 0 {
            return Ok(None);
        }
        match key {
            [b'\n' | b'\r'] => return Ok(Some(String::from_utf8_lossy(&line).into_owned())),
            [3 | 4] => return Ok(None),
            [8 | 127] => drop(line.pop()),
            [byte] => line.push(byte),
        }
    }
}

/// There is no door to the terminal on this system.
///
/// # Errors
/// Always.
#[cfg(not(unix))]
pub fn read_hidden(_ask: impl FnOnce() -> io::Result<()>) -> io::Result<Option<String>> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "a hidden line cannot be read here; use --console-token-file",
    ))
}
