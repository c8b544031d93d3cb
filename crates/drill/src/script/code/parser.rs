//! Parses code.

use super::lexer::{Kind, Token, tokens};
use super::{Code, Comparison, Expression, Operator, Statement, StatementKind, Value};
use crate::script::error::{Error, Position};

/// How deep expressions may nest.
const DEPTH_MAX: usize = 60;
/// How long code may be. Chains of operations nest as deep as they are long.
const TOKENS_MAX: usize = 2000;

/// Parses the code that begins at `position`.
pub(crate) fn parse(code: &str, position: Position) -> Result<Code, Error> {
    let tokens = tokens(code, position)?;
    if tokens.len() > TOKENS_MAX {
        return Err(Error::new(position, format!("this code has more than {TOKENS_MAX} words")));
    }
    let mut parser = Parser { code, tokens, at: 0, start: position, depth: 0 };
    let mut statements = Vec::new();
    loop {
        while parser.eat(&Kind::End) {}
        if parser.peek().is_none() {
            return Ok(Code { statements });
        }
        statements.push(parser.statement()?);
    }
}

struct Parser<'a> {
    code: &'a str,
    tokens: Vec<Token>,
    at: usize,
    start: Position,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Kind> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    fn position(&self) -> Position {
        let token = self.tokens.get(self.at).or(self.tokens.last());
        token.map_or(self.start, |token| token.position)
    }

    fn eat(&mut self, kind: &Kind) -> bool {
        let found = self.peek() == Some(kind);
        self.at += usize::from(found);
        found
    }

    fn eat_sign(&mut self, sign: &'static str) -> bool {
        self.eat(&Kind::Sign(sign))
    }

    fn eat_name(&mut self, name: &str) -> bool {
        let found = matches!(self.peek(), Some(Kind::Name(found)) if found == name);
        self.at += usize::from(found);
        found
    }

    fn expected(&self, what: &str) -> Error {
        let found = match self.tokens.get(self.at) {
            Some(Token { kind: Kind::End, .. }) | None => "the end of the statement".to_owned(),
            Some(token) => format!("`{}`", &self.code[token.start..token.end]),
        };
        Error::new(self.position(), format!("expected {what} in code, found {found}"))
    }

    fn statement(&mut self) -> Result<Statement, Error> {
        let (position, first) = (self.position(), self.at);
        let kind = if self.eat_name("assert") {
            let condition = self.expression()?;
            let message = if self.eat_sign(",") { Some(self.expression()?) } else { None };
            StatementKind::Assert { condition, message }
        } else if self.eat_name("print") {
            StatementKind::Print(self.printed()?)
        } else {
            self.assignment()?
        };
        let last = self.at;
        if self.peek().is_some() && !self.eat(&Kind::End) {
            return Err(self.expected("the end of the statement"));
        }
        let (start, end) = (self.tokens[first].start, self.tokens[last - 1].end);
        let text = self.code[start..end].to_owned();
        Ok(Statement { position, text, kind })
    }

    fn printed(&mut self) -> Result<Vec<Expression>, Error> {
        match self.peek() {
            Some(Kind::End) | None => Ok(Vec::new()),
            _ => Ok(match self.expression()? {
                Expression::Tuple(values) => values,
                single => vec![single],
            }),
        }
    }

    /// An assignment, or an expression alone.
    fn assignment(&mut self) -> Result<StatementKind, Error> {
        let name = match self.peek() {
            Some(Kind::Name(name)) => name.clone(),
            _ => return self.expression().map(StatementKind::Expression),
        };
        let operator = match self.tokens.get(self.at + 1).map(|token| &token.kind) {
            Some(Kind::Sign("=")) => None,
            Some(Kind::Sign(sign)) => match sign.strip_suffix('=').and_then(operator) {
                Some(operator) => Some(operator),
                None => return self.expression().map(StatementKind::Expression),
            },
            _ => return self.expression().map(StatementKind::Expression),
        };
        self.at += 2;
        Ok(StatementKind::Assign { name, operator, value: self.expression()? })
    }

    fn expression(&mut self) -> Result<Expression, Error> {
        self.deeper(Parser::or)
    }

    fn deeper(
        &mut self,
        parse: impl Fn(&mut Self) -> Result<Expression, Error>,
    ) -> Result<Expression, Error> {
        if self.depth == DEPTH_MAX {
            return Err(Error::new(self.position(), "this expression is nested too deep"));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn or(&mut self) -> Result<Expression, Error> {
        let mut left = self.and()?;
        while self.eat_name("or") {
            left = Expression::Or(Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Expression, Error> {
        let mut left = self.not()?;
        while self.eat_name("and") {
            left = Expression::And(Box::new(left), Box::new(self.not()?));
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Expression, Error> {
        if self.eat_name("not") {
            return Ok(Expression::Not(Box::new(self.deeper(Parser::not)?)));
        }
        let first = self.binary(0)?;
        let mut rest = Vec::new();
        while let Some(comparison) = self.comparison() {
            rest.push((comparison, self.binary(0)?));
        }
        Ok(if rest.is_empty() { first } else { Expression::Compare(Box::new(first), rest) })
    }

    fn comparison(&mut self) -> Option<Comparison> {
        let comparison = match self.peek() {
            Some(Kind::Sign("==")) => Comparison::Equal,
            Some(Kind::Sign("!=")) => Comparison::NotEqual,
            Some(Kind::Sign("<")) => Comparison::Less,
            Some(Kind::Sign("<=")) => Comparison::LessOrEqual,
            Some(Kind::Sign(">")) => Comparison::Greater,
            Some(Kind::Sign(">=")) => Comparison::GreaterOrEqual,
            _ => return None,
        };
        self.at += 1;
        Some(comparison)
    }

    /// Operations of at least this rank, from the left.
    fn binary(&mut self, rank: usize) -> Result<Expression, Error> {
        let Some(signs) = RANKS.get(rank) else { return self.unary() };
        let mut left = self.binary(rank + 1)?;
        while let Some(&Kind::Sign(sign)) = self.peek() {
            let Some(operator) = operator(sign).filter(|_| signs.contains(&sign)) else { break };
            self.at += 1;
            let right = self.binary(rank + 1)?;
            left = Expression::Binary(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expression, Error> {
        if self.eat_sign("-") {
            return Ok(Expression::Negate(Box::new(self.deeper(Parser::unary)?)));
        }
        if self.eat_sign("~") {
            return Ok(Expression::Invert(Box::new(self.deeper(Parser::unary)?)));
        }
        if self.eat_sign("+") {
            return self.deeper(Parser::unary);
        }
        let base = self.primary()?;
        if !self.eat_sign("**") {
            return Ok(base);
        }
        let exponent = self.deeper(Parser::unary)?;
        Ok(Expression::Binary(Operator::Power, Box::new(base), Box::new(exponent)))
    }

    fn primary(&mut self) -> Result<Expression, Error> {
        let kind = self.peek().cloned();
        let error = self.expected("a value");
        self.at += 1;
        Ok(match kind {
            Some(Kind::Integer(value)) => Expression::Value(Value::Integer(value)),
            Some(Kind::Float(value)) => Expression::Value(Value::Float(value)),
            Some(Kind::Text(text)) => Expression::Value(Value::Text(text)),
            Some(Kind::Sign("(")) => self.parenthesis()?,
            Some(Kind::Name(name)) => match name.as_str() {
                "True" => Expression::Value(Value::Bool(true)),
                "False" => Expression::Value(Value::Bool(false)),
                _ if self.eat_sign("(") => match self.parenthesis()? {
                    Expression::Tuple(arguments) => Expression::Call(name, arguments),
                    single => Expression::Call(name, vec![single]),
                },
                _ => Expression::Name(name),
            },
            _ => {
                self.at -= 1;
                return Err(error);
            }
        })
    }

    /// The inside of parentheses: one expression, or several with commas.
    fn parenthesis(&mut self) -> Result<Expression, Error> {
        let mut values = Vec::new();
        let mut comma = true;
        while !self.eat_sign(")") {
            if !comma {
                return Err(self.expected("a comma or a closing parenthesis"));
            }
            values.push(self.expression()?);
            comma = self.eat_sign(",");
        }
        Ok(match values.len() {
            1 if !comma => values.remove(0),
            _ => Expression::Tuple(values),
        })
    }
}

/// The operations by their rank, the loosest first.
const RANKS: [&[&str]; 6] =
    [&["|"], &["^"], &["&"], &["<<", ">>"], &["+", "-"], &["*", "/", "//", "%"]];

fn operator(sign: &str) -> Option<Operator> {
    Some(match sign {
        "+" => Operator::Add,
        "-" => Operator::Subtract,
        "*" => Operator::Multiply,
        "/" => Operator::Divide,
        "//" => Operator::FloorDivide,
        "%" => Operator::Modulo,
        "**" => Operator::Power,
        "|" => Operator::BitOr,
        "^" => Operator::BitXor,
        "&" => Operator::BitAnd,
        "<<" => Operator::ShiftLeft,
        ">>" => Operator::ShiftRight,
        _ => return None,
    })
}
