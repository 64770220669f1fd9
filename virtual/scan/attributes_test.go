// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"errors"
	"testing"
)

// TestLists writes lists of lists.
func TestLists(t *testing.T) {
	a := Attributes{{"rows", []any{[]int8{1, -2}, []any{"a", true, float32(0.1)}, []any{}}}}
	if got, err := a.JSON(); err != nil || string(got) != `{"rows":[[1,-2],["a",true,0.1],[]]}` {
		t.Errorf("%s: %v", got, err)
	}
	if _, err := (Attributes{{"x", []any{struct{}{}}}}).JSON(); !errors.Is(err, ErrUnsupported) {
		t.Error(err)
	}
}
