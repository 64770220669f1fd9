// SPDX-License-Identifier: Apache-2.0

// Package backdoor lets packages of this module call functions that a public package
// keeps to itself.
//
// The public package hands a function over when it is initialized, by [Set]. An internal
// package that imports it declares a variable with [Use], with the type and the comment
// of the function, and everyone else calls that.
package backdoor

import "fmt"

var functions = map[string]any{}

// Set hands over a function under a name. It panics if the name is taken.
func Set(name string, function any) {
	if _, taken := functions[name]; taken {
		panic("backdoor: " + name + " is set twice")
	}
	functions[name] = function
}

// Use returns the function with a name. It panics if there is none, or if it is of
// another type.
func Use[F any](name string) F {
	f, ok := functions[name].(F)
	if !ok {
		panic(fmt.Sprintf("backdoor: %s is a %T, not a %T", name, functions[name], f))
	}
	return f
}
