package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// addEnums adds the values of enumerations to defs. The published files omit them; the Go
// definitions that they are generated from contain them.
func addEnums(defs map[string]any, generated string) error {
	file, err := parser.ParseFile(token.NewFileSet(), generated, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	byFunction := make(map[string]map[string]any)
	for name, def := range defs {
		def := def.(map[string]any)
		if properties, ok := def["properties"].(map[string]any); ok {
			_, path, _ := strings.Cut(name, "io.k8s.")
			byFunction["schema_k8sio_"+strings.ReplaceAll(path, ".", "_")] = properties
		}
	}
	added := 0
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || byFunction[f.Name.Name] == nil {
			continue
		}
		for name, values := range enums(f.Body) {
			property, ok := byFunction[f.Name.Name][name].(map[string]any)
			if !ok {
				return fmt.Errorf("%s has an enumeration %q, which is no property of the published definition", f.Name.Name, name)
			}
			if items, ok := property["items"].(map[string]any); ok {
				property = items
			}
			property["enum"] = values
			added++
		}
	}
	if added == 0 {
		return fmt.Errorf("%s has no enumerations", generated)
	}
	return nil
}

// enums returns the values of each property that is an enumeration, or a list of them:
//
//	"name": {SchemaProps: spec.SchemaProps{…, Enum: []interface{}{"A", "B"}}}
func enums(body ast.Node) map[string][]any {
	found := make(map[string][]any)
	var property string
	ast.Inspect(body, func(n ast.Node) bool {
		pair, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		list, ok := pair.Value.(*ast.CompositeLit)
		if !ok {
			return true
		}
		if name, ok := literal(pair.Key); ok && !strings.HasPrefix(name, "x-") {
			property = name
		}
		if key, ok := pair.Key.(*ast.Ident); !ok || key.Name != "Enum" {
			return true
		}
		for _, value := range list.Elts {
			if text, ok := literal(value); ok && !slices.Contains(found[property], any(text)) {
				found[property] = append(found[property], text)
			}
		}
		return false
	})
	return found
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}
