//! The file has exactly the columns of `contracts/records/attempts.schema.json`.

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::Type;
use patternbench_attemptlog::{AttemptLog, Outcome, Settings};
use serde_json::Value;
use std::fs::File;

fn contract() -> Value {
    let path = "../../../contracts/records/attempts.schema.json";
    let path = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Name, type and whether it may be null, for every column of the contract.
fn declared(contract: &Value) -> Vec<(String, String, bool)> {
    let columns = contract["properties"].as_object().unwrap().iter();
    let column = |(name, column): (&String, &Value)| {
        let kind = column["x-arrow"].as_str().unwrap().to_owned();
        let nullable = column["type"]
            .as_array()
            .is_some_and(|types| types.contains(&"null".into()));
        (name.clone(), kind, nullable)
    };
    columns.map(column).collect()
}

/// The same of a column of the file, under the names that Arrow has for types.
fn written(column: &Type) -> (String, String, bool) {
    let info = column.get_basic_info();
    let kind = match (column.get_physical_type(), info.logical_type_ref()) {
        (Physical::BOOLEAN, None) => "bool".to_owned(),
        (Physical::INT64, None) => "int64".to_owned(),
        (Physical::BYTE_ARRAY, Some(LogicalType::String)) => "dictionary".to_owned(),
        (Physical::INT32, Some(LogicalType::Integer(int))) if !int.is_signed => {
            format!("uint{}", int.bit_width)
        }
        other => panic!("{}: {other:?}", info.name()),
    };
    (
        info.name().to_owned(),
        kind,
        info.repetition() == Repetition::OPTIONAL,
    )
}

/// The columns of a file, with or without those of journeys.
fn columns(journeys: bool) -> Vec<(String, String, bool)> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("attempts.parquet");
    let settings = Settings {
        file: Some(file.clone()),
        groups: vec!["all".to_owned()],
        steps: vec!["request".to_owned()],
        journeys,
        observer: None,
    };
    AttemptLog::start(settings).unwrap().finish().unwrap();
    let reader = SerializedFileReader::new(File::open(&file).unwrap()).unwrap();
    let schema = reader.metadata().file_metadata().schema().get_fields().iter();
    schema.map(|column| written(column)).collect()
}

#[test]
fn the_file_has_the_columns_of_the_contract_in_their_order() {
    let contract = contract();
    let always = contract["required"].as_array().unwrap().len();
    assert_eq!(columns(true), declared(&contract));
    assert_eq!(columns(false), declared(&contract)[..always]);
}

#[test]
fn the_contract_tells_every_outcome_by_its_name() {
    let contract = contract();
    let told = contract["properties"]["outcome"]["description"].as_str().unwrap();
    for name in Outcome::ALL.map(Outcome::name) {
        assert!(told.contains(&format!("`{name}`")), "{name} is not in {told:?}");
    }
}
