//! Values on their way to PostgreSQL and back, by the types that it has found for them.

use tokio_postgres::types::{ToSql, Type};

use super::errors::Failure;
use crate::database::{Row, Value, check_texts, wrong_count};

type Parameter<'a> = Box<dyn ToSql + Sync + Send + 'a>;

pub fn parameters<'a>(types: &[Type], values: &'a [Value]) -> Result<Vec<Parameter<'a>>, Failure> {
    let refused = |error| Failure { error, is_lost: false };
    check_texts(values).map_err(refused)?;
    if types.len() != values.len() {
        return Err(refused(wrong_count(types.len(), values.len())));
    }
    let parameters = types.iter().zip(values).zip(1..);
    parameters.map(|((kind, value), number)| parameter(kind, value, number)).collect()
}

fn parameter<'a>(kind: &Type, value: &'a Value, number: usize) -> Result<Parameter<'a>, Failure> {
    let is_text = *kind == Type::TEXT || *kind == Type::VARCHAR;
    let parameter: Option<Parameter<'a>> = match (kind, value) {
        (&Type::INT8, Value::Int(value)) => Some(Box::new(*value)),
        (&Type::INT8, Value::Null) => Some(Box::new(None::<i64>)),
        (&Type::INT4, Value::Int(value)) => i32::try_from(*value).ok().map(|value| Box::new(value) as Parameter<'a>),
        (&Type::INT4, Value::Null) => Some(Box::new(None::<i32>)),
        (&Type::BYTEA, Value::Bytes(value)) => Some(Box::new(value.as_slice())),
        (&Type::BYTEA, Value::Null) => Some(Box::new(None::<&[u8]>)),
        (_, Value::Text(value)) if is_text => Some(Box::new(value.as_str())),
        (_, Value::Null) if is_text => Some(Box::new(None::<&str>)),
        _ => None,
    };
    parameter.ok_or_else(|| {
        let given = match value {
            Value::Null => "nothing",
            Value::Int(_) => "a number",
            Value::Bytes(_) => "bytes",
            Value::Text(_) => "a text",
        };
        Failure::statement(format!("${number} is of the type {kind}, which cannot be {given}; CAST it"))
    })
}

pub fn row(row: &tokio_postgres::Row) -> Result<Row, Failure> {
    let columns = row.columns().iter().enumerate();
    columns.map(|(number, column)| value(row, number, column.type_())).collect::<Result<_, _>>().map(Row)
}

fn value(row: &tokio_postgres::Row, column: usize, kind: &Type) -> Result<Value, Failure> {
    let value = match *kind {
        Type::INT8 => row.try_get::<_, Option<i64>>(column).map(Value::from),
        Type::INT4 => row.try_get::<_, Option<i32>>(column).map(|value| value.map(i64::from).into()),
        Type::INT2 => row.try_get::<_, Option<i16>>(column).map(|value| value.map(i64::from).into()),
        Type::BOOL => row.try_get::<_, Option<bool>>(column).map(Value::from),
        Type::BYTEA => row.try_get::<_, Option<&[u8]>>(column).map(Value::from),
        Type::TEXT | Type::VARCHAR => row.try_get::<_, Option<&str>>(column).map(Value::from),
        _ => {
            let why = format!("column {column} is of the type {kind}; CAST it AS BIGINT, BYTEA or TEXT");
            return Err(Failure::statement(why));
        }
    };
    value.map_err(|error| Failure::statement(format!("column {column}: {error}")))
}
