//! A long conversation whose context keeps fitting, and why each part of it is there.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use hermes::prelude::*;
use hermes::session::ContextSpec;
use hermes::tiktoken::TiktokenCounter;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let owner = Owner::new("acme".parse()?, "dana".parse()?);
    let sessions =
        Sessions::new(hermes::inmemory::InMemoryStore::new()).with_counter(TiktokenCounter::o200k());
    let session = sessions.create(&owner, "A long talk").await?;

    session.append(NewMessage::user("My name is Dana, and I am allergic to peanuts.")).await?;
    session.append(NewMessage::assistant("Noted, Dana.")).await?;
    for n in 1..=30 {
        session
            .append(NewMessage::user(format!(
                "What is stage {n} of the tour like? My booking is T-{:04}.",
                4_000 + n
            )))
            .await?;
        session
            .append(NewMessage::assistant(format!("Stage {n} is {} kilometres long and mostly flat.", 8 + n)))
            .await?;
    }
    session.append(NewMessage::user("What may I eat on the way?")).await?;

    let context =
        session.context(ContextSpec::new(Budget::new(1_500)).with_system("You plan hiking tours.")).await?;
    println!("{} messages in the log, {} sent\n", session.last(), context.messages().len());
    println!("{}", context.explain());
    Ok(())
}
