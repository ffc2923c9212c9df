//! TOML that others wrote, as a JSON value: one kind of tree for all that is read.

use serde_json::{Map, Value};
use toml::de::{DeTable, DeValue, Error};

/// The tables of a document. A date is its text; a number that does not fit is null.
///
/// # Errors
/// When it is no TOML.
pub fn parse(text: &str) -> Result<Map<String, Value>, Error> {
    Ok(table(DeTable::parse(text)?.get_ref()))
}

fn table(table: &DeTable<'_>) -> Map<String, Value> {
    let mut object = Map::new();
    object.extend(table.iter().map(|(key, item)| (key.get_ref().to_string(), value(item.get_ref()))));
    object
}

fn value(of: &DeValue<'_>) -> Value {
    match of {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Boolean(flag) => Value::from(*flag),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok().into(),
        DeValue::Float(number) => number.as_str().parse::<f64>().ok().into(),
        DeValue::Datetime(time) => Value::from(time.to_string()),
        DeValue::Array(items) => items.iter().map(|item| value(item.get_ref())).collect(),
        DeValue::Table(inner) => Value::Object(table(inner)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_kind_of_value_has_its_own_in_json() {
        let text = "a.b = 'x'\n[[c]]\nd = -1_0\n[[c]]\nd = 0xfF\ne = [1.5, true, nan, +2e1]\nf = 2026-11-10T08:00:00Z\n\
                    g = { h = \"\"\"\n\\u00e9\"\"\", i = 9223372036854775808 }";
        let expected = json!({
            "a": {"b": "x"},
            "c": [
                {"d": -10},
                {"d": 255, "e": [1.5, true, null, 20.0], "f": "2026-11-10T08:00:00Z", "g": {"h": "é", "i": null}},
            ],
        });
        assert_eq!(Value::Object(parse(text).unwrap()), expected);
        assert!(parse("[a\nb").is_err());
        assert!(parse("a = 1\na = 2").is_err());
    }
}
