// SPDX-License-Identifier: Apache-2.0

package strictjson

import (
	"strconv"
	"strings"
)

// step is an open container on the path to a place in a document.
type step struct {
	object bool
	index  int  // of the current element
	name   int  // offset of the current member's name
	inside bool // after the colon of that member
}

// pointer returns the JSON pointer of the innermost value that contains offset off. The
// document must be well-formed up to there; the rest may be anything.
func pointer(doc []byte, off int) string {
	var path []step
	for i := 0; i < off; i++ {
		top := len(path) - 1
		switch doc[i] {
		case '[', '{':
			path = append(path, step{object: doc[i] == '{'})
		case ']', '}':
			path = path[:top]
		case ',':
			path[top].index++
			path[top].inside = false
		case ':':
			path[top].inside = true
		case '"':
			// A string before the colon is a name. In an array this sets a field that
			// spell ignores.
			if top >= 0 && !path[top].inside {
				path[top].name = i
			}
			i = skipText(doc, i) - 1
		}
	}
	return spell(doc, path)
}

func spell(doc []byte, path []step) string {
	var b []byte
	for _, s := range path {
		switch {
		case !s.object:
			b = strconv.AppendInt(append(b, '/'), int64(s.index), 10)
		case s.inside:
			b = append(b, Token(unquote(doc[s.name:skipText(doc, s.name)]))...)
		}
	}
	return string(b)
}

var tokenEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// Token returns the part of a JSON pointer for a member, including the slash.
func Token(name string) string { return "/" + tokenEscapes.Replace(name) }
