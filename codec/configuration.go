// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strictjson"
)

// mostText bounds the length of a string in bytes. Strings in configurations are words,
// and messages quote them.
const mostText = 1 << 10

// DecodeConfiguration stores the members of the configuration raw in the struct that dst
// points to, by their json tags. A nil raw is an empty object. A field without a member
// keeps its value. It is an error if a member has no field or is null, or if a string
// exceeds 1,024 bytes.
//
// It is stricter than encoding/json: names match exactly, no name occurs twice, and null,
// booleans and strings are not numbers.
func DecodeConfiguration(raw []byte, dst any) error {
	if raw == nil {
		return nil
	}
	v, err := strictjson.Parse(raw, strictjson.Limits{Size: int64(len(raw)), Depth: math.MaxInt})
	switch {
	case err != nil:
		return fmt.Errorf("configuration is not a JSON object: %w", err)
	case v.Kind() == strictjson.Null:
		return errors.New("configuration is null; leave it out, or write {}")
	case v.Kind() != strictjson.Object:
		return fmt.Errorf("configuration is not a JSON object: it is %s", v.Kind())
	}
	fields := reflect.ValueOf(dst).Elem()
	tags := tagsOf(fields.Type())
	for name, m := range v.Named() {
		i := 0
		for i < len(tags) && tags[i] != string(name) {
			i++
		}
		switch {
		case i == len(tags) || tags[i] == "":
			return fmt.Errorf("unknown member %q; %s", strictjson.Abbreviate(name), listed(tags))
		case m.Kind() == strictjson.Null:
			return fmt.Errorf("member %q is null; leave it out instead", name)
		}
		// Messages quote strings, so refuse very long ones.
		if m.Kind() == strictjson.String && len(m.Raw()) > mostText {
			return fmt.Errorf("member %q is a text of %s, more than the %d that one may have: %s", name, quantity.Count(len(m.Raw()), "bytes"), mostText, m.Brief())
		}
		if err := set(fields.Field(i).Addr().Interface(), m); err != nil {
			return fmt.Errorf("member %q: %w", name, err)
		}
	}
	return nil
}

// known caches the tags of the decoded struct types, of which there is one for each
// codec.
var known sync.Map

// tagsOf returns the json tag of every field of a struct, or "".
func tagsOf(t reflect.Type) []string {
	if tags, ok := known.Load(t); ok {
		return tags.([]string)
	}
	tags := make([]string, t.NumField())
	for i := range tags {
		tags[i] = t.Field(i).Tag.Get("json")
	}
	known.Store(t, tags)
	return tags
}

// listed lists the permitted members for a message.
func listed(tags []string) string {
	var names []string
	for _, tag := range tags {
		if tag != "" {
			names = append(names, strconv.Quote(tag))
		}
	}
	switch len(names) {
	case 0:
		return "it has none"
	case 1:
		return "it has " + names[0] + " only"
	}
	last := len(names) - 1
	return "it has " + strings.Join(names[:last], ", ") + " and " + names[last]
}

// set stores a value in the variable that field points to. It handles the usual kinds
// itself and leaves the others to encoding/json; the results are the same.
func set(field any, v strictjson.Value) error {
	switch f := field.(type) {
	case *Int:
		return f.UnmarshalJSON(v.Raw())
	case **Int:
		*f = new(Int)
		return (*f).UnmarshalJSON(v.Raw())
	case *bool:
		if v.Kind() == strictjson.Bool {
			*f, _ = v.Bool()
			return nil
		}
	case *string:
		if v.Kind() == strictjson.String {
			*f, _ = v.Str()
			return nil
		}
	case **string:
		if v.Kind() == strictjson.String {
			text, _ := v.Str()
			*f = &text
			return nil
		}
	}
	err := json.Unmarshal(v.Raw(), field)
	if err != nil && len(v.Raw()) > mostText { // the message might quote all of it
		return errors.New(strictjson.Abbreviate(err.Error()))
	}
	return err
}

// Int is an integer that may be spelled as a number without a fraction, such as 5.0.
type Int int64

// UnmarshalJSON implements [json.Unmarshaler].
func (n *Int) UnmarshalJSON(text []byte) error {
	if len(text) > mostText {
		return fmt.Errorf("%s is not an integer of 64 bits", strictjson.Abbreviate(text))
	}
	// Nearly all integers end here. ParseFloat reads spellings such as 5.0 and 1e3.
	if v, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		*n = Int(v)
		return nil
	}
	const exact = 1 << 53 // from here on, a float64 may stand for several integers
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || v != math.Trunc(v) || math.Abs(v) > exact {
		return fmt.Errorf("%s is not an integer", strictjson.Abbreviate(text))
	}
	*n = Int(v)
	return nil
}
