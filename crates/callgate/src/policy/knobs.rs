//! Knobs: a method of the policy for each position of each knob, named by the words that stand in its data.

use super::{
    BlankArgs, Coerce, Dangerous, DuplicateKeys, Echo, Endings, Excess, ExtraArgs, Foreign, Members,
    NameRule, Partial, Policy, Position, Quote, Region, Release, RepairPolicy, RequireCall, Special,
    TruncatedPolicy, Untyped,
};

macro_rules! positions {
    ($($method:ident $field:ident $kind:ident::$position:ident $words:literal;)*) => {
        /// Each knob has a method for each of its positions: `repair = off` of a configuration is `repair_off`.
        impl Policy {
            $(
                #[doc = $words]
                #[must_use]
                pub fn $method(mut self) -> Self {
                    self.$field = $kind::$position;
                    self
                }
            )*
        }

        /// The method, the knob and the position of each row.
        pub(super) const POSITIONS: &[(&str, &str, fn(Policy) -> Policy)] =
            &[$((stringify!($method), stringify!($field), Policy::$method),)*];
    };
}

// Columns: method, field, position; what it means.
positions! {
    repair_off repair RepairPolicy::Off "No repair: what strict reading rejects is rejected.";
    repair_backtick repair RepairPolicy::Backtick "Only strings in backticks are repaired.";
    repair_lossless repair RepairPolicy::Lossless "Repairs with one possible reading.";
    repair_full repair RepairPolicy::Full "All repairs of the closed list; guesses are reported as such.";
    coerce_off coerce Coerce::Off "No value is changed to fit its schema.";
    coerce_untyped coerce Coerce::Untyped "Only values of a format that cannot say a type are fitted to their schema.";
    coerce_lossless coerce Coerce::Lossless "Any value is fitted where exactly one change makes it valid.";
    truncated_reject truncated TruncatedPolicy::Reject "A call that runs into the end of the output is rejected.";
    truncated_complete truncated TruncatedPolicy::Complete "It is closed, as a guess, where the ending allows it.";
    endings_any endings Endings::Any "Calls that are closed come out whatever the ending.";
    endings_good endings Endings::Good "Calls come out only if the provider said that the model came to its end.";
    fences_dead fences Region::Dead "A call in a code fence is no call.";
    fences_live fences Region::Live "A call in a code fence is a call.";
    fences_sole fences Region::Sole "A call in a code fence is a call if the fence is the whole response.";
    quote_dead quote Quote::Dead "A call in inline code or a quotation is no call.";
    quote_live quote Quote::Live "A call in inline code or a quotation is a call.";
    indented_dead indented Quote::Dead "A call that is indented like code is no call.";
    indented_live indented Quote::Live "A call that is indented like code is a call.";
    reasoning_dead reasoning Quote::Dead "A call inside of reasoning is no call.";
    reasoning_live reasoning Quote::Live "A call inside of reasoning is a call.";
    position_anywhere position Position::Anywhere "A call may stand anywhere.";
    position_line_start position Position::LineStart "A call stands at the start of a line.";
    position_trailing position Position::Trailing "Nothing but white space may follow the last call.";
    on_excess_report on_excess Excess::Report "Each call over `max_calls` is rejected.";
    on_excess_reject on_excess Excess::Reject "More calls than `max_calls` are all rejected.";
    partial_keep_good partial Partial::KeepGood "The good calls of a response stand beside rejected ones.";
    partial_all_or_nothing partial Partial::AllOrNothing "One rejected call rejects all of the response.";
    extra_args_reject extra_args ExtraArgs::Reject "An argument that the schema does not mention rejects the call.";
    extra_args_drop extra_args ExtraArgs::Drop "Such an argument is dropped, listed as a coercion.";
    extra_args_allow extra_args ExtraArgs::Allow "Such an argument is passed on.";
    blank_args_reject blank_args BlankArgs::Reject "A call without arguments is rejected.";
    blank_args_empty blank_args BlankArgs::Empty "It has an empty object, if the tool requires nothing.";
    members_reject members Members::Reject "A member of a call that its format does not have rejects it.";
    members_report members Members::Report "Such a member is reported, unless the tool is dangerous.";
    dangerous_marked dangerous Dangerous::Marked "The tools that say so are dangerous.";
    dangerous_all dangerous Dangerous::All "All tools are dangerous.";
    require_call_never require_call RequireCall::Never "A response need not call.";
    require_call_if_attempted require_call RequireCall::IfAttempted "It must if it tries to, in a format that is not switched on.";
    require_call_always require_call RequireCall::Always "It must call.";
    foreign_live foreign Foreign::Live "An unmistakable call in a dialect that was not named is a call.";
    foreign_reject foreign Foreign::Reject "It is rejected, and said so.";
    foreign_ignore foreign Foreign::Ignore "It is text.";
    release_at_end release Release::AtEnd "Calls come out at the end, when nothing can revoke them.";
    release_early release Release::Early "Calls come out as soon as each is judged.";
    echo_report echo Echo::Report "A call that repeats untrusted text is reported.";
    echo_reject echo Echo::Reject "A call that repeats untrusted text is rejected.";
    duplicate_keys_reject duplicate_keys DuplicateKeys::Reject "A key that stands twice rejects the call.";
    duplicate_keys_keep_last duplicate_keys DuplicateKeys::KeepLast "Its last value wins, as a guess, whatever else may be repaired.";
    untyped_json untyped Untyped::Json "Text of which no schema says the type is JSON if it reads as such, else text.";
    untyped_text untyped Untyped::Text "It is text, whatever it looks like.";
    untyped_python untyped Untyped::Python "It is JSON or a Python literal if it reads as such and is no string, else text.";
    special_either special Special::Either "A marker that is a special token counts however it came.";
    special_required special Special::Required "It counts only if it came as a special token, by `push_special`.";
}

/// Counts, names and limits.
impl Policy {
    /// The most calls of one response.
    #[must_use]
    pub fn max_calls(mut self, calls: usize) -> Self {
        self.max_calls = calls;
        self
    }

    /// Which names are names: ASCII letters, digits, `_` and the characters of `extra`, at most `longest` of them.
    #[must_use]
    pub fn name_rule(mut self, extra: &str, longest: usize) -> Self {
        self.name_rule = NameRule { extra: extra.to_owned(), max: longest };
        self
    }
}

macro_rules! limits {
    ($($method:ident $field:ident $words:literal;)*) => {
        /// Limits. They count input bytes where nothing else is said, and fire at exact places.
        impl Policy {
            $(
                #[doc = $words]
                #[must_use]
                pub fn $method(mut self, limit: usize) -> Self {
                    self.limits.$field = limit;
                    self
                }
            )*
        }

        #[cfg(test)]
        const LIMITS: &[(&str, &str, fn(Policy, usize) -> Policy)] =
            &[$((stringify!($method), stringify!($field), Policy::$method),)*];
    };
}

// Columns: method, field; what it limits.
limits! {
    limit_arguments arguments "The largest arguments of one call.";
    limit_depth depth "The deepest nesting of arguments; the object itself is depth 1.";
    limit_held held "The most text that is held back while it is undecided.";
    limit_repairs repairs "The most repairs of one call.";
    limit_raw raw "How much of a rejected attempt is copied into the rejection.";
    limit_rejections rejections "The most rejections of one response.";
    limit_work work "The most counted work for one response.";
    limit_untrusted untrusted "The most untrusted text that calls are compared with.";
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{LIMITS, POSITIONS};
    use crate::policy::Policy;

    #[test]
    fn a_method_sets_the_position_that_its_name_says() {
        for (method, knob, set) in POSITIONS {
            let data = serde_json::to_value(set(Policy::default())).unwrap();
            let word = data[knob].as_str().unwrap().replace('-', "_");
            assert_eq!(*method, format!("{knob}_{word}"));
        }
        for (method, limit, set) in LIMITS {
            let data = serde_json::to_value(set(Policy::default(), 77)).unwrap();
            assert_eq!((*method, &data["limits"][limit]), (&*format!("limit_{limit}"), &Value::from(77)));
        }
        let policy = Policy::default().max_calls(3).name_rule(":", 9);
        assert_eq!((policy.max_calls, policy.name_rule.allows(':'), policy.name_rule.max), (3, true, 9));
    }

    #[test]
    fn every_knob_can_be_left_out_of_data_and_none_can_be_made_up() {
        assert_eq!(serde_json::from_str::<Policy>("{}").unwrap(), Policy::default());
        let some = r#"{"repair": "off", "limits": {"depth": 3}, "name_rule": {"max": 9}}"#;
        let mut wanted = Policy::default().repair_off().limit_depth(3);
        wanted.name_rule.max = 9;
        assert_eq!(serde_json::from_str::<Policy>(some).unwrap(), wanted);
        for unknown in [r#"{"repairs": "off"}"#, r#"{"limits": {"deep": 3}}"#, r#"{"name_rule": {"min": 1}}"#]
        {
            let error = serde_json::from_str::<Policy>(unknown).unwrap_err().to_string();
            assert!(error.contains("unknown field"), "{error}");
        }
        assert!(serde_json::from_str::<Policy>(r#"{"repair": "some"}"#).is_err());
    }
}
