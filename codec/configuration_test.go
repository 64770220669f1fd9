// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"varve.dev/zarr/internal/racing"
)

type sample struct {
	Level *Int   `json:"level"`
	Name  string `json:"name"`
	Flag  bool   `json:"flag"`
	Order []Int  `json:"order"`
	Plain int
}

func TestConfiguration(t *testing.T) {
	var s sample
	if err := DecodeConfiguration([]byte(` {"level": -3, "name": "x", "flag": true, "order": [2, 1.0, 0]} `), &s); err != nil {
		t.Fatal(err)
	}
	if *s.Level != -3 || s.Name != "x" || !s.Flag || len(s.Order) != 3 || s.Order[1] != 1 {
		t.Errorf("decoded %+v", s)
	}
}

func TestConfigurationNothing(t *testing.T) {
	for _, raw := range [][]byte{nil, []byte(`{}`)} {
		s := sample{Name: "kept"}
		if err := DecodeConfiguration(raw, &s); err != nil || s.Name != "kept" || s.Level != nil {
			t.Errorf("DecodeConfiguration(%q) = %+v, %v", raw, s, err)
		}
	}
}

func TestConfigurationRefuses(t *testing.T) {
	for raw, want := range map[string]string{
		``:                         "not a JSON object",
		`null`:                     "null",
		`[]`:                       "not a JSON object",
		`5`:                        "not a JSON object",
		`{"level": 1} x`:           "not a JSON object",
		`{"Level": 1}`:             `unknown member "Level"`,
		`{"Plain": 1}`:             `unknown member "Plain"`,
		`{"plain": 1}`:             `unknown member "plain"`,
		`{"": 1}`:                  `unknown member ""`,
		`{"level": 1, "level": 1}`: "given twice",
		`{"level": null}`:          `"level" is null`,
		`{"level": "1"}`:           `member "level"`,
		`{"level": true}`:          `member "level"`,
		`{"level": 1.5}`:           "not an integer",
		`{"level": 1e300}`:         "not an integer",
		`{"level": 1e999}`:         "not an integer",
		`{"name": 1}`:              `member "name"`,
		`{"flag": 1}`:              `member "flag"`,
		`{"order": [0, null]}`:     `member "order"`,
		`{"order": [0, false]}`:    `member "order"`,
	} {
		if err := DecodeConfiguration([]byte(raw), &sample{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("DecodeConfiguration(%q) = %v, want %q", raw, err, want)
		}
	}
}

// TestSetAsJSON compares what is set by itself with what encoding/json makes of it.
func TestSetAsJSON(t *testing.T) {
	type all struct {
		I  Int     `json:"i"`
		PI *Int    `json:"pi"`
		B  bool    `json:"b"`
		S  string  `json:"s"`
		PS *string `json:"ps"`
		PB *bool   `json:"pb"`
		R  []Int   `json:"r"`
	}
	for _, value := range []string{
		"0", "-7", "5.0", "1e3", "1.5", "1e300", "9223372036854775807", "9223372036854775808", "true", "false", `""`, `"a\u00e9\n\ud834\udd1e"`, `"5"`, "[]", "[1]", "{}",
	} {
		for _, name := range []string{"i", "pi", "b", "s", "ps", "pb", "r"} {
			raw := []byte(`{"` + name + `": ` + value + ` }`)
			var got, want all
			err, wantErr := DecodeConfiguration(raw, &got), json.Unmarshal(raw, &want)
			if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v and error %v, encoding/json %+v and %v", raw, got, err, want, wantErr)
			}
		}
	}
}

// TestConfigurationAllocates decodes what most arrays have: only what the fields point to
// is allocated.
func TestConfigurationAllocates(t *testing.T) {
	racing.Skip(t)
	raw := []byte(`{"level": 5, "flag": false}`)
	s := new(sample)
	if n := testing.AllocsPerRun(10, func() {
		if err := DecodeConfiguration(raw, s); err != nil {
			t.Error(err)
		}
	}); n > 3 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzConfiguration(f *testing.F) {
	f.Add([]byte(`{"level": 5.0, "flag": false}`))
	f.Add([]byte(`{"order": [1e2]}`))
	f.Fuzz(func(t *testing.T, raw []byte) { _ = DecodeConfiguration(raw, &sample{}) })
}

// TestConfigurationLong has names, texts and numbers of a megabyte, of which errors quote
// the beginning.
func TestConfigurationLong(t *testing.T) {
	long := strings.Repeat("1", 1<<20)
	var dst struct {
		Level Int     `json:"level"`
		Name  string  `json:"name"`
		Flag  bool    `json:"flag"`
		Order []Int   `json:"order"`
		Real  float32 `json:"real"`
	}
	for _, raw := range []string{
		`{"` + long + `": 1}`, `{"name": "` + long + `"}`, `{"level": "` + long + `"}`, `{"level": ` + long + `}`, `{"order": [` + long + `]}`,
		`{"level": 1` + long + `.0}`, `{"real": ` + long + `}`,
	} {
		if err := DecodeConfiguration([]byte(raw), &dst); err == nil || len(err.Error()) > 1000 || !strings.Contains(err.Error(), "111...111") {
			t.Errorf("%.30s: %.2000v", raw, err)
		}
	}
}
