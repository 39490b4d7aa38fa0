//! What the user types: with editing and history on a screen, plain lines otherwise.

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use tokio::io::{AsyncBufReadExt as _, BufReader, Stdin};

use crate::error::Error;

/// The lines of standard input.
pub(crate) enum Lines {
    /// A screen, with an editor that is lent to a thread for each line.
    Screen(Option<DefaultEditor>),
    /// A file or pipe.
    Plain(tokio::io::Lines<BufReader<Stdin>>),
}

impl Lines {
    pub(crate) fn open(screen: bool) -> Self {
        match screen.then(DefaultEditor::new).and_then(Result::ok) {
            Some(editor) => Self::Screen(Some(editor)),
            None => Self::Plain(BufReader::new(tokio::io::stdin()).lines()),
        }
    }

    /// The next line; `None` at the end, and after Ctrl-C or Ctrl-D on a screen.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, Error> {
        match self {
            Self::Plain(lines) => {
                lines.next_line().await.map_err(|e| Error::Usage(format!("standard input: {e}")))
            }
            Self::Screen(slot) => {
                let Some(mut editor) = slot.take() else { return Ok(None) };
                let read = tokio::task::spawn_blocking(move || {
                    let line = editor.readline("> ");
                    if let Ok(line) = &line {
                        // Without history the line is read all the same.
                        let _ = editor.add_history_entry(line);
                    }
                    (editor, line)
                });
                let (editor, line) =
                    read.await.map_err(|e| Error::Usage(format!("the line editor failed: {e}")))?;
                *slot = Some(editor);
                match line {
                    Ok(line) => Ok(Some(line)),
                    Err(ReadlineError::Eof | ReadlineError::Interrupted) => Ok(None),
                    Err(error) => Err(Error::Usage(format!("the line editor failed: {error}"))),
                }
            }
        }
    }
}
