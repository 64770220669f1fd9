// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// TestCosts refuses inputs that are missing, unknown, there twice, or out of range.
func TestCosts(t *testing.T) {
	if _, list, err := parseCosts(builtin); err != nil || len(list) != len(new(costs).fields()) {
		t.Fatalf("%d inputs, %v", len(list), err)
	}
	text := string(builtin)
	for _, c := range [][3]string{
		{`"name": "link"`, `"name": "chain"`, "chain"},
		{`"name": "link"`, `"name": "cores"`, "cores"},
		{`"value": 16,`, `"value": 0,`, "cores"},
		{`"value": 16,`, `"value": -1,`, "cores"},
		{`"value": 16,`, `"worth": 16,`, "worth"},
		{`{"name": "cores"`, `{"name": "life"`, "life"},
		{`[`, `[[`, "costs"},
	} {
		changed := strings.Replace(text, c[0], c[1], 1)
		if _, _, err := parseCosts([]byte(changed)); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s as %s: %v", c[0], c[1], err)
		}
	}
	if _, _, err := parseCosts([]byte("[]")); err == nil {
		t.Error("no inputs are enough")
	}
}

// FuzzCosts looks for inputs that are accepted and are no positive numbers.
func FuzzCosts(f *testing.F) {
	f.Add(builtin)
	f.Add([]byte(`[{"name": "cores", "value": 1e400}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, _, err := parseCosts(data)
		if err == nil && !(c.cores > 0 && c.link > 0 && c.lease > 0) {
			t.Errorf("%+v", c)
		}
	})
}
