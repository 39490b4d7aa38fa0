//! A wrong call that comes back to the model as something it can correct, and an effect that happens once.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use hermes::core::{CallId, Seq, StepId, ToolCall, ToolHost as _};
use hermes::inmemory::InMemoryStore;
use hermes::prelude::*;
use serde_json::json;

#[derive(serde::Deserialize)]
struct Payment {
    order: String,
    amount: f64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tools = ToolRegistry::new().with_idempotency(InMemoryStore::new());
    tools.register(
        ToolSpec::new("pay", "Pay an order")
            .input_schema(json!({
                "type": "object",
                "properties": {
                    "order": { "type": "string", "pattern": "^M-[0-9]+$" },
                    "amount": { "type": "number", "exclusiveMinimum": 0 },
                    "currency": { "enum": ["EUR", "USD", "CNY"] }
                },
                "required": ["order", "amount", "currency"]
            }))
            .effect(Effect::SideEffect),
        |payment: Payment, _context: CallContext| async move {
            println!("   (paying {} for {})", payment.amount, payment.order);
            Ok::<_, ToolError>(json!({ "paid": payment.order }))
        },
    )?;

    let owner = Owner::new("acme".parse()?, "dana".parse()?);
    let (session, step) = (SessionId::generate(), StepId::generate());
    for arguments in [
        r#"{"order":"M-23891","amount":"12.50","curency":"euro"}"#,
        r#"{"order":"M-23891","amount":12.5,"currency":"EUR"}"#,
        r#"{"currency":"EUR","amount":12.50,"order":"M-23891"}"#,
    ] {
        let call = ToolCall::new(CallId::generate(), "pay", arguments);
        let context = CallContext::new(owner.clone(), session, Seq::new(1), step, call.id.clone());
        println!("{call}");
        let outcome = tools.call(&call, context).await;
        println!("   {}\n   from record: {}\n", outcome.to_model_text(), outcome.report.from_record);
    }
    Ok(())
}
