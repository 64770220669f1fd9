// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"encoding/json"
	"errors"
	"testing"
)

// TestExtensionJSON checks that extensions keep their spelling in other JSON, and that
// invalid ones are refused there.
func TestExtensionJSON(t *testing.T) {
	for _, text := range []string{`["bytes",{"name":"zstd","configuration":{"level":3}}]`, `[]`} {
		var list []Extension
		err := json.Unmarshal([]byte(text), &list)
		if raw, failed := json.Marshal(list); err != nil || failed != nil || string(raw) != text {
			t.Errorf("%s becomes %s, %v", text, raw, err)
		}
	}
	for _, text := range []string{`[7]`, `[{"configuration":{}}]`, `[{"name":"zstd","level":3}]`} {
		var list []Extension
		if err := json.Unmarshal([]byte(text), &list); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: error is %v, want ErrInvalid", text, err)
		}
	}
}

func TestExtensionEqual(t *testing.T) {
	of := func(configuration string) Extension {
		return Extension{Name: "x", Configuration: []byte(configuration)}
	}
	for _, c := range []struct {
		a, b  string
		equal bool
	}{
		{`{"level":1,"checksum":false}`, "{\n  \"checksum\": false,\n  \"level\": 1\n}", true},
		{`{"level":1}`, `{"level":2}`, false},
		{`{"level":1}`, `{"level":"1"}`, false},
		{`{"level":9007199254740993}`, `{ "level":9007199254740992}`, false},
		{`{"level":1}`, `{"level":1`, false},
		{`{"order":[0,1]}`, `{"order": [0, 1]}`, true},
		{`{"order":[0,1]}`, `{"order":[1,0]}`, false},
	} {
		if got := of(c.a).Equal(of(c.b)); got != c.equal {
			t.Errorf("%s equals %s: %t", c.a, c.b, got)
		}
	}
	if (Extension{Name: "x"}).Equal(of(`{}`)) || (Extension{Name: "x"}).Equal(Extension{Name: "y"}) {
		t.Error("different extensions are equal")
	}
}

func TestExtensionPlain(t *testing.T) {
	for text, want := range map[string]string{
		`"x"`:                                     `{"name":"x"}`,
		`{ "configuration":{ },"name":"x"}`:       `{"name":"x"}`,
		`{"name":"x","must_understand":true}`:     `{"name":"x"}`,
		`{"must_understand":false,"name":"x"}`:    `{"name":"x","must_understand":false}`,
		`{"configuration":{"a": 1},"name" : "x"}`: `{"name":"x","configuration":{"a": 1}}`,
	} {
		e, err := ParseExtension([]byte(text), Limits{})
		if got := string(e.Plain().Append(nil)); err != nil || got != want {
			t.Errorf("%s: %s, want %s (%v)", text, got, want, err)
		}
	}
}
