//! A comparison as CSV (RFC 4180): a line for each cell, and a line for each trial.

use serde::Serialize;
use serde_json::Value;

use crate::experiment::record::Comparison;

/// Columns that say which row it is come first; the others are in the order of their names.
const FIRST: [&str; 4] = ["scenario", "contender", "connections", "block"];

/// What no cell of a table has room for.
const LEFT_OUT: [&str; 3] = ["load.service_time_ns_hdr", "load.timeline", "output"];

/// `cells.csv`: every figure of every cell; names are those of `result.json`, joined by dots.
pub fn cells_csv(comparison: &Comparison) -> String {
    csv(&comparison.cells)
}

/// `trials.csv`: every figure of every trial, without [`LEFT_OUT`].
pub fn trials_csv(comparison: &Comparison) -> String {
    csv(&comparison.trials)
}

/// Rows as flat objects; columns are all names that occur.
fn csv<T: Serialize>(rows: &[T]) -> String {
    let flat: Vec<Vec<(String, String)>> = rows.iter().map(flattened).collect();
    let mut columns: Vec<&str> = Vec::new();
    for row in &flat {
        let mut after = 0;
        for (name, _) in row {
            match columns.iter().position(|column| column == name) {
                Some(position) => after = position + 1,
                None => {
                    columns.insert(after, name);
                    after += 1;
                }
            }
        }
    }
    let place = |column: &&str| FIRST.iter().position(|first| first == column);
    columns.sort_by_key(|column| place(column).unwrap_or(FIRST.len()));
    let mut text = line(columns.iter().copied());
    for row in &flat {
        let value = |column: &&str| {
            row.iter().find(|(name, _)| name == column).map_or("", |(_, value)| value.as_str())
        };
        text.push_str(&line(columns.iter().map(value)));
    }
    text
}

fn flattened(row: &impl Serialize) -> Vec<(String, String)> {
    let mut flat = Vec::new();
    // Only maps with keys that are no strings cannot be values, and records have none.
    let value = serde_json::to_value(row).unwrap_or(Value::Null);
    flatten("", &value, &mut flat);
    flat.retain(|(name, _)| !LEFT_OUT.contains(&name.as_str()));
    flat
}

fn flatten(name: &str, value: &Value, flat: &mut Vec<(String, String)>) {
    let text = match value {
        Value::Object(members) => {
            for (key, value) in members {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                flatten(&name, value, flat);
            }
            return;
        }
        Value::Array(items) => {
            let plain =
                |item: &Value| item.as_str().map_or_else(|| item.to_string(), str::to_owned);
            if items.iter().any(|item| item.is_object() || item.is_array()) {
                return;
            }
            items.iter().map(plain).collect::<Vec<_>>().join(" ")
        }
        Value::Null => return,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    flat.push((name.to_owned(), text));
}

fn line<'a>(fields: impl Iterator<Item = &'a str>) -> String {
    let fields: Vec<String> = fields.map(quoted).collect();
    format!("{}\r\n", fields.join(","))
}

fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", field.replace('"', "\"\""));
    }
    field.to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_are_a_union_and_fields_are_quoted() {
        let rows = [json!({"a": 1, "c": {"x": null}}), json!({"a": "q\"1,\n", "c": {"x": [1, 2]}})];
        assert_eq!(csv(&rows), "a,c.x\r\n1,\r\n\"q\"\"1,\n\",1 2\r\n");
        assert_eq!(csv::<Value>(&[]), "\r\n");
    }
}
