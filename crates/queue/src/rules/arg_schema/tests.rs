use super::*;
use crate::payload;
use leasehold_types::ProblemCode;
use serde_json::json;
use std::sync::Arc;

fn check_schema(schema: &Value, payload: &Value) -> Result<(), Problem> {
    Checker::new(schema).unwrap().check_now(payload)
}

fn why_not(schema: &Value) -> String {
    let problem = check(schema).expect_err(&schema.to_string());
    assert_eq!(problem.errors[0].field, "arg_schema");
    problem.detail
}

#[test]
fn a_usual_schema_is_fine_and_its_formats_count() {
    let schema = json!({"$schema": DRAFT, "type": "object", "required": ["provider_id"],
        "properties": {"provider_id": {"type": "string", "format": "uuid"}}});
    check(&schema).unwrap();
    assert!(check_schema(&schema, &json!({"provider_id": "no"})).is_err());
}

#[test]
fn references_stay_inside() {
    for target in ["http://127.0.0.1:1/a.json", "file:///etc/passwd", "other.json", "//host/x"] {
        assert!(why_not(&json!({"properties": {"a": {"$ref": target}}})).contains(target));
    }
    let own = json!({"$defs": {"id": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/id"}}});
    check(&own).unwrap();
    assert!(check_schema(&own, &json!({"a": "x"})).is_err());
    assert!(check(&json!({"$ref": "#/$defs/nowhere"})).is_err());
}

#[test]
fn a_tree_may_refer_to_itself_but_a_circle_may_not() {
    let tree = json!({"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}});
    check(&tree).unwrap();
    assert!(check_schema(&tree, &json!({"left": {"right": 1}})).is_err());
    why_not(&json!({"$ref": "#"}));
    why_not(&json!({"allOf": [{"$ref": "#"}]}));
    let two = json!({"$defs": {"a": {"not": {"$ref": "#/$defs/b"}}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}},
        "properties": {"x": {"$ref": "#/$defs/a"}}});
    why_not(&two);
}

#[test]
fn patterns_take_linear_time() {
    why_not(&json!({"pattern": "(?=look)ahead"}));
    why_not(&json!({"pattern": r"(a)\1"}));
    why_not(&json!({"pattern": "((a{1000}){1000}){1000}"}));
    let slow_elsewhere = json!({"type": "string", "pattern": "^(a+)+$"});
    check(&slow_elsewhere).unwrap();
    assert!(check_schema(&slow_elsewhere, &json!(format!("{}!", "a".repeat(50_000)))).is_err());
}

#[test]
fn size_and_depth_are_bounded() {
    let deep = (0..100).fold(json!({}), |inner, _| json!({"properties": {"a": inner}}));
    assert!(why_not(&deep).contains("deeper"));
    assert!(why_not(&json!({"description": "x".repeat(70_000)})).contains("bytes"));
}

#[test]
fn what_is_no_schema_is_refused() {
    for wrong in [json!([]), json!(true), json!({"type": "strung"}), json!({"required": "a"})] {
        why_not(&wrong);
    }
    assert!(why_not(&json!({"$schema": "http://json-schema.org/draft-07/schema#"})).contains("2020-12"));
}

#[test]
fn a_schema_violation_names_the_place() {
    let schema = json!({"type": "object", "required": ["seconds"], "additionalProperties": false,
        "properties": {"seconds": {"type": "integer", "minimum": 1}, "id": {"format": "uuid"}}});
    assert!(check_schema(&schema, &json!({"seconds": 3})).is_ok());
    let problem = check_schema(&schema, &json!({"seconds": 0})).unwrap_err();
    assert_eq!(problem.code, ProblemCode::InvalidPayload);
    assert_eq!(problem.errors[0].field, "payload/seconds");
    assert_eq!(problem.errors[0].message, "It must be at least 1.");
    assert!(check_schema(&schema, &json!({"seconds": 1, "id": "x"})).is_err(), "formats are asserted");
    assert!(check_schema(&schema, &json!({"seconds": 1, "other": 1})).is_err());
}

#[test]
fn a_schema_cannot_reach_out() {
    for reference in ["http://127.0.0.1:1/s.json", "file:///etc/passwd"] {
        assert!(check(&json!({"$ref": reference})).is_err(), "{reference}");
    }
}

/// So many levels of definitions, each of which refers to the next as often as `edge` does.
fn doubled(levels: usize, edge: impl Fn(Value) -> Value) -> Value {
    let mut defs = serde_json::Map::new();
    for level in 0..levels {
        defs.insert(format!("l{level}"), edge(json!({"$ref": format!("#/$defs/l{}", level + 1)})));
    }
    defs.insert(format!("l{levels}"), json!({"type": "object"}));
    json!({"$defs": defs, "$ref": "#/$defs/l0"})
}

#[test]
fn references_that_double_are_refused() {
    assert!(why_not(&doubled(28, |next| json!({"allOf": [next, next]}))).contains("1000 times"));
    assert!(why_not(&doubled(28, |next| json!({"anyOf": [next, {"not": next}]}))).contains("1000 times"));
    assert!(why_not(&doubled(40, |next| json!({"allOf": [next]}))).contains("one to the next"));
    check(&doubled(7, |next| json!({"allOf": [next, next]}))).unwrap();
    let anchored = json!({"$defs": {"a": {"$anchor": "a", "allOf": [{"$ref": "#b"}]},
        "b": {"$anchor": "b", "not": {"$ref": "#a"}}}, "$ref": "#a"});
    assert!(why_not(&anchored).contains("back to itself"));
    let two_documents = json!({"$defs": {"a": {"$id": "urn:a", "$ref": "#"}}, "$ref": "#/$defs/a"});
    assert!(why_not(&two_documents).contains("$id"));
}

#[test]
fn references_that_go_deeper_may_double_but_the_payload_is_held_to_the_budget() {
    // Sixty-four levels of arrays would be 2^64 looks.
    let tree = json!({"$defs": {"t": {"anyOf": [{"items": {"$ref": "#/$defs/t"}, "minItems": 1},
        {"items": {"$ref": "#/$defs/t"}, "minItems": 2}]}}, "$ref": "#/$defs/t"});
    let nested = |levels| (0..levels).fold(json!([1]), |inner, _| json!([inner]));
    check_schema(&tree, &nested(5)).unwrap();
    let problem = check_schema(&tree, &nested(60)).unwrap_err();
    assert!(problem.detail.contains("too long"), "{problem}");
    // A wide schema is compiled once per place, not once per way to it.
    check(&doubled(28, |next| json!({"properties": {"a": next, "b": next}}))).unwrap();
}

#[test]
fn far_references_do_not_exhaust_the_stack() {
    let chain = |levels| doubled(levels, |next| json!({"properties": {"a": next}}));
    check(&chain(30)).unwrap();
    assert!(why_not(&chain(1_000)).contains("further than"));
    // Each is known when the one before it is read; still it is one chain for whoever follows it.
    let mut from_the_end = chain(700);
    let tail_first: Vec<Value> = (0..700).rev().map(|n| json!({"$ref": format!("#/$defs/l{n}")})).collect();
    from_the_end["prefixItems"] = json!(tail_first);
    from_the_end.as_object_mut().unwrap().remove("$ref");
    check(&from_the_end).unwrap();
    let nested = (0..60).fold(json!({}), |inner, _| json!({"a": inner}));
    check_schema(&from_the_end, &json!([1, nested])).unwrap();
}

#[test]
fn many_branches_are_refused() {
    let branches =
        |n: usize| json!({"allOf": (0..n).map(|i| json!({"contains": {"const": i}})).collect::<Vec<_>>()});
    assert!(why_not(&branches(2_000)).contains("1000 times"));
    let allowed = branches(900);
    check(&allowed).unwrap();
    let problem = check_schema(&allowed, &json!(vec!["x"; 100_000])).unwrap_err();
    assert_eq!(problem.code, ProblemCode::InvalidPayload);
    assert!(problem.detail.contains("too long"), "{problem}");
    check_schema(&allowed, &json!((0..1_000).collect::<Vec<_>>())).unwrap();
}

#[test]
fn patterns_are_few_and_their_repetitions_count() {
    let many = json!({"allOf": (0..150).map(|n| json!({"pattern": format!("^a{n}$")})).collect::<Vec<_>>()});
    assert!(why_not(&many).contains("patterns"));
    // Not linear enough: hundreds of states are alive at every byte.
    let wide = json!({"type": "string", "pattern": "^[01]*1[01]{900}$"});
    check(&wide).unwrap();
    check_schema(&wide, &json!(format!("1{}", "0".repeat(900)))).unwrap();
    assert!(check_schema(&wide, &json!("01".repeat(500_000))).unwrap_err().detail.contains("too long"));
}

#[test]
fn what_is_wrong_is_said_in_few_words_and_never_repeats_the_value() {
    let sent = "correct horse battery staple";
    let schema = json!({"type": "object", "required": ["a"], "properties": {
        "a": {"type": "integer"}, "b": {"enum": ["x", "y"]}, "c": {"maxLength": 3}, "d": {"pattern": "^z"},
        "e": {"anyOf": [{"type": "array"}, {"type": "null"}]}, "f": {"format": "uuid"}, "g": {"const": 1},
        "h": {"not": {"type": "string"}}, "i": {"oneOf": [{"type": "null"}]}, "j": false}});
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    for name in names {
        let problem = check_schema(&schema, &json!({"a": 1}).merged(name, json!(sent))).unwrap_err();
        let text = serde_json::to_string(&problem).unwrap();
        assert!(!text.contains("horse"), "{text}");
        assert_eq!(problem.errors[0].field, format!("payload/{name}"));
    }
    let strict = json!({"type": "object", "additionalProperties": false, "maxProperties": 1});
    let long_names: serde_json::Map<_, _> =
        (0..200).map(|n| (format!("{n}{}", "\u{1}é".repeat(2_000)), json!(n))).collect();
    let text =
        serde_json::to_string(&check_schema(&strict, &Value::Object(long_names)).unwrap_err()).unwrap();
    assert!(text.len() < 16_384, "{}", text.len());
}

trait Merged {
    fn merged(self, name: &str, value: Value) -> Value;
}

impl Merged for Value {
    fn merged(mut self, name: &str, value: Value) -> Value {
        self[name] = value;
        self
    }
}

#[test]
fn errors_that_would_fill_the_memory_are_not_collected() {
    let numbers = json!({"type": "array", "items": {"type": "integer"}});
    let schema =
        json!({"properties": {"rows": {"anyOf": [numbers, {"type": "array", "items": {"type": "null"}}]}}});
    let wrong = |rows: usize| json!({"rows": vec!["x"; rows]});
    let small = check_schema(&schema, &wrong(10)).unwrap_err();
    assert_eq!(small.errors[0].field, "payload/rows");
    let large = check_schema(&schema, &wrong(100_000)).unwrap_err();
    assert!(large.errors.is_empty() && large.detail.contains("too large to say where"), "{large}");
    // Without branches the first error costs nothing, however large the payload is.
    let plain = json!({"properties": {"rows": numbers}});
    let first = check_schema(&plain, &wrong(100_000)).unwrap_err();
    assert_eq!((first.errors.len(), first.errors[0].field.as_str()), (1, "payload/rows/0"));
}

#[tokio::test]
async fn one_call_has_one_allowance() {
    let checker =
        Arc::new(Checker::new(&json!({"items": {"enum": (0..1_000).collect::<Vec<_>>()}})).unwrap());
    let payload = json!(vec![1; 10_000]);
    let mut allowance = Allowance::default();
    assert_eq!(checker.check(payload.clone(), &mut allowance).await.as_ref(), Ok(&payload));
    let mut accepted = 1;
    let refused = loop {
        match checker.check(payload.clone(), &mut allowance).await {
            Ok(_) => accepted += 1,
            Err(problem) => break problem,
        }
        assert!(accepted < 100);
    };
    assert!(refused.detail.contains("of this call"), "{refused}");
    assert!(accepted > 2, "{accepted}");
    assert!(checker.check(json!([1]), &mut Allowance::default()).await.is_ok());
}

#[test]
fn a_template_is_held_to_the_same_budget() {
    let branches: Vec<_> = (0..900).map(|n| json!({"contains": {"const": n}})).collect();
    let checker = Checker::new(&json!({"allOf": branches, "required": ["a"]})).unwrap();
    let problem = checker.check_frame(&json!(vec!["x"; 10_000])).unwrap_err();
    assert!(problem.detail.contains("too long"), "{problem}");
    checker.check_frame(&json!(vec!["x"; 10])).unwrap();
    assert_eq!(checker.check_frame(&json!({})).unwrap_err().errors.len(), 1);
}

#[test]
fn unique_items_and_unevaluated_members_count_for_what_they_do() {
    let nested = (0..50).fold(json!(vec![1; 100_000]), |inner, _| json!([inner]));
    let unique =
        json!({"$defs": {"u": {"uniqueItems": true, "items": {"$ref": "#/$defs/u"}}}, "$ref": "#/$defs/u"});
    assert!(check_schema(&unique, &nested).unwrap_err().detail.contains("too long"));
    let strict =
        json!({"allOf": [{"properties": {"a": {"type": "integer"}}}], "unevaluatedProperties": false});
    check_schema(&strict, &json!({"a": 1})).unwrap();
    assert!(check_schema(&strict, &json!({"b": 1})).is_err());
    assert!(payload::bytes(&nested) > 100_000);
}
