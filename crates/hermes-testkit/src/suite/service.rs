//! The suites of models, embedders and token counters.

/// Writes the tests of [`Embedder`](hermes_core::Embedder) for a backend.
#[macro_export]
macro_rules! embedder_suite {
    ($($make:tt)+) => {
        $crate::__suite! {
            embedder: Embedder;
            cases {
                [$crate::embedder]
                    one_vector_for_each_text,
                    vectors_come_in_order,
                    vectors_have_unit_length,
                    the_same_text_gives_the_same_vector,
                    any_text_is_accepted,
                    many_texts_at_once;
            }
            shared {
                [$crate::embedder] one_vector_for_each_text;
            }
            races {
            }
            make { $($make)+ }
        }
    };
}

/// Writes the tests of [`TokenCounter`](hermes_core::TokenCounter) for a backend.
#[macro_export]
macro_rules! token_counter_suite {
    ($($make:tt)+) => {
        $crate::__suite! {
            token_counter: TokenCounter;
            cases {
                [$crate::token_counter]
                    the_empty_text_has_no_tokens,
                    counts_do_not_change,
                    special_tokens_are_ordinary_text,
                    any_text_is_counted;
            }
            shared {
                [$crate::token_counter] counts_do_not_change;
            }
            races {
            }
            make { $($make)+ }
        }
    };
}

/// Writes the tests of [`ChatModel`](hermes_core::ChatModel) for a backend.
#[macro_export]
macro_rules! chat_model_suite {
    ($($make:tt)+) => {
        $crate::__suite! {
            chat_model: ChatModel;
            cases {
                [$crate::chat_model]
                    a_plain_answer_ends_once,
                    usage_has_input_and_output,
                    a_call_comes_whole,
                    a_result_is_answered,
                    a_cut_answer_says_so;
            }
            shared {
                [$crate::chat_model] a_plain_answer_ends_once;
            }
            races {
            }
            make { $($make)+ }
        }
    };
}
