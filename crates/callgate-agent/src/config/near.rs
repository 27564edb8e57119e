//! The nearest key: what could be meant by one that there is not.

use callgate::internal::nearest;

use super::{all_keys, rows};

/// Every key that could be meant: where a name is the user's own, with the one that stands there.
pub(super) fn keys_near(key: &str) -> Vec<String> {
    let own = key.split('.').nth(2).filter(|own| !own.is_empty()).unwrap_or("NAME");
    let open = rows().filter(|row| row.is_open());
    let open = open.map(|row| row.key.replacen('*', own, 1).replace('*', "NAME"));
    all_keys().chain(open).collect()
}

/// The nearest known key: the first part that is wrong is compared with what could stand in its place.
pub(super) fn suggestion(key: &str) -> String {
    let keys = keys_near(key);
    let mut prefix = String::new();
    for part in key.split('.') {
        let below = keys.iter().filter_map(|known| known.strip_prefix(&prefix));
        let mut places: Vec<&str> = below.filter_map(|rest| rest.split('.').next()).collect();
        places.dedup();
        if places.contains(&part) {
            prefix = format!("{prefix}{part}.");
            continue;
        }
        let Some(near) = nearest(part, places.iter().copied()).first().map(|near| (*near).to_owned()) else {
            // Perhaps the last part is right, or nearly, and stands in the wrong section: knobs have names of their own.
            let last = key.rsplit('.').next().unwrap_or(key);

            let lasts = keys.iter().filter_map(|known| known.rsplit('.').next());
            let meant = nearest(last, lasts).first().copied();
            let elsewhere = keys.iter().find(|known| known.rsplit('.').next() == Some(last));
            let elsewhere = elsewhere
                .or_else(|| keys.iter().find(|known| meant.is_some() && known.rsplit('.').next() == meant));
            return match elsewhere {
                Some(known) => format!("did you mean `{known}`?"),
                None if prefix.is_empty() => "`callgate config show` lists every key".to_owned(),
                None => format!("`{}` has {}", prefix.trim_end_matches('.'), places.join(", ")),
            };
        };
        let rest = key.strip_prefix(&prefix).and_then(|rest| rest.strip_prefix(part)).unwrap_or_default();
        let whole = format!("{prefix}{near}{rest}");
        let known = keys.iter().any(|known| *known == whole || known.starts_with(&format!("{whole}.")));
        let shown = if known { whole } else { format!("{prefix}{near}") };
        return format!("did you mean `{shown}`?");
    }
    let below: Vec<&str> = keys.iter().filter_map(|known| known.strip_prefix(&prefix)).collect();
    format!("it has {}", below.join(", "))
}
