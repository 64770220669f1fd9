// SPDX-License-Identifier: Apache-2.0

package attributes_test

import (
	"testing"

	"varve.dev/zarr/internal/attributes"
)

func TestFollow(t *testing.T) {
	for _, tt := range []struct{ source, before, follower, want string }{
		{`{"a": 1}`, `{"a": 1}`, `{"a": 1}`, `{"a": 1}`},
		{`{"a": 1, "mine": [2]}`, `{"a":1}`, `{"a": 3}`, `{"a": 3, "mine": [2]}`},
		{`{"a": 5}`, `{"a":1}`, `{"a": 1}`, `{"a": 5}`},                             // set in the follower
		{`{"a": 5}`, `{"a":1}`, `{"a": 2}`, `{"a": 2}`},                             // the last word
		{`{}`, `{"a":1}`, `{"a": 1}`, `{}`},                                         // removed in the follower
		{`{"a":1,"b":2}`, `{"a":1,"b":2}`, `{"b":2}`, `{"b":2}`},                    // removed in the source
		{`{}`, ``, `{"a": 1}`, `{"a":1}`},                                           // nothing was noted
		{`{"a": {"x": [1, 2]}}`, `{}`, `{"a":{"x":[1,2]}}`, `{"a": {"x": [1, 2]}}`}, // the same, in other words
		{`{"varve:follow": 1}`, `{"varve:growth":1}`, `{"varve:pyramid": 2}`, `{"varve:follow": 1}`},
		{`{"a":1}`, `{"a":1}`, `{"a":"\u004eaN"}`, `{"a":"\u004eaN"}`}, // a bare NaN stays one
	} {
		got, err := attributes.Follow([]byte(tt.source), []byte(tt.before), []byte(tt.follower))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s, from %s to %s: %s (%v), want %s", tt.source, tt.before, tt.follower, got, err, tt.want)
		}
	}
}
