package config

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// literal gives the value of expr where it is a text, a number, true or false, and
// says what is wrong where it is anything else.
func (s *section) literal(name string, expr hclsyntax.Expression) (cty.Value, bool) {
	var wrong string
	switch e := expr.(type) {
	case *hclsyntax.LiteralValueExpr:
		if !e.Val.IsNull() && e.Val.IsKnown() {
			return e.Val, true
		}
		wrong = "null is no value: leave " + name + " out instead"
	case *hclsyntax.TemplateExpr:
		if text, ok := plainText(e); ok {
			return cty.StringVal(text), true
		}
		wrong = "${…} and %{…} are not part of the language: write the text out ($${ stands for a plain ${)"
	case *hclsyntax.TemplateWrapExpr:
		wrong = "${…} is not part of the language: write the value out"
	case *hclsyntax.ScopeTraversalExpr:
		word := e.Traversal.RootName()
		if len(e.Traversal) == 1 {
			wrong = "the language has no variables: a text needs quotes, \"" + printable(word) + "\""
		} else {
			wrong = "the language has no variables: a text needs quotes"
		}
	case *hclsyntax.FunctionCallExpr:
		wrong = "the language has no functions such as " + printable(e.Name) + "(): write the value out"
	case *hclsyntax.TupleConsExpr:
		wrong = name + " takes one value, not a list"
	case *hclsyntax.ObjectConsExpr:
		wrong = name + " takes a value, not a block or an object"
	case *hclsyntax.ExprSyntaxError:
		return cty.NilVal, false // the syntax error is already reported
	default:
		wrong = "the language has no expressions: write the value of " + name + " out"
		if e, ok := expr.(*hclsyntax.UnaryOpExpr); ok && e.Op == hclsyntax.OpNegate {
			wrong = name + " can not be negative"
		}
	}
	s.found.add(expr.Range(), "%s", wrong)
	return cty.NilVal, false
}

// plainText joins the parts of a text in quotes that has no interpolation.
func plainText(e *hclsyntax.TemplateExpr) (string, bool) {
	var text strings.Builder
	for _, part := range e.Parts {
		lit, ok := part.(*hclsyntax.LiteralValueExpr)
		if !ok || lit.Val.IsNull() || lit.Val.Type() != cty.String {
			return "", false
		}
		text.WriteString(lit.Val.AsString())
	}
	return text.String(), true
}
