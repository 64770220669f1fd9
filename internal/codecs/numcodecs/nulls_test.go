// SPDX-License-Identifier: Apache-2.0

package numcodecs

import "testing"

// TestWithoutNulls drops members that are null, all or some of them.
func TestWithoutNulls(t *testing.T) {
	for _, tt := range []struct {
		raw   string
		names []string
		want  string
	}{
		{`{"a":1,"b":null,"c":null}`, nil, `{"a":1}`},
		{`{"a":1,"b":null,"c":null}`, []string{"b", "a"}, `{"a":1,"c":null}`},
		{`{"a":[null],"b":{"c":null}}`, nil, `{"a":[null],"b":{"c":null}}`},
		{`null`, nil, `null`},
		{`[null]`, nil, `[null]`},
		{`{"a":nul}`, nil, `{"a":nul}`},
		{``, nil, ``},
	} {
		if got := string(WithoutNulls([]byte(tt.raw), tt.names...)); got != tt.want {
			t.Errorf("%s without nulls of %q: %s, want %s", tt.raw, tt.names, got, tt.want)
		}
	}
	if got := WithoutNulls(nil); got != nil {
		t.Errorf("no configuration becomes %q", got)
	}
}
