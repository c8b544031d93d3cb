//! Code between `%{` and `}%`: the part of Python that scripts use. It is parsed and evaluated here, without Python.
//!
//! Statements are `assert`, `print`, assignments (`=`, `+=` and the like) and expressions. Expressions have numbers,
//! texts, names, arithmetic, bits, comparisons in chains, `and`, `or`, `not`, `%` on texts, and the functions `abs`,
//! `min`, `max`, `int`, `float` and `round`.

mod evaluate;
mod lexer;
mod parser;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use evaluate::{Failure, Variables};
pub(crate) use parser::parse;
pub use value::Value;

use super::error::Position;

/// The statements of one block.
#[derive(Clone, Debug, PartialEq)]
pub struct Code {
    /// The statements, in order.
    pub statements: Vec<Statement>,
}

/// A statement, with its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// Where it begins.
    pub position: Position,
    /// Its text.
    pub text: String,
    /// Its kind with its parts.
    pub kind: StatementKind,
}

/// The kinds of statements.
#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    /// Fails unless the condition is true.
    Assert {
        /// The condition.
        condition: Expression,
        /// The text of the failure.
        message: Option<Expression>,
    },
    /// Prints values.
    Print(Vec<Expression>),
    /// Sets a variable.
    Assign {
        /// The variable.
        name: String,
        /// The operation of `+=` and the like.
        operator: Option<Operator>,
        /// The value.
        value: Expression,
    },
    /// An expression whose value is dropped.
    Expression(Expression),
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A constant.
    Value(Value),
    /// A variable.
    Name(String),
    /// `(a, b)`
    Tuple(Vec<Expression>),
    /// The negative, `-a`
    Negate(Box<Expression>),
    /// `~a`
    Invert(Box<Expression>),
    /// `not a`
    Not(Box<Expression>),
    /// `a + b`
    Binary(Operator, Box<Expression>, Box<Expression>),
    /// `a <= b < c`
    Compare(Box<Expression>, Vec<(Comparison, Expression)>),
    /// `a and b`
    And(Box<Expression>, Box<Expression>),
    /// `a or b`
    Or(Box<Expression>, Box<Expression>),
    /// `abs(a)`
    Call(String, Vec<Expression>),
}

/// An operation on two values.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Add,
    /// A difference, `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `//`
    FloorDivide,
    /// `%`
    Modulo,
    /// `**`
    Power,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `&`
    BitAnd,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
}

/// A comparison of two values.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}
