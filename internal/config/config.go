// Package config reads the configuration of a codec: a flat JSON object whose members are all known.
//
// It builds on encoding/json and closes what that leaves open: names match exactly, and null, booleans and strings
// are no numbers. The document around the object has been checked for duplicate members and encoding before.
package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
)

// Decode stores the members of the JSON object raw in the fields of the struct that dst points to, by their json tag.
// A nil raw is an object without members. A member that no field is tagged with, or that is null, is an error;
// a field without a member keeps its value.
func Decode(raw []byte, dst any) error {
	if raw == nil {
		return nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return fmt.Errorf("configuration is not a JSON object: %w", err)
	}
	if members == nil {
		return errors.New("configuration is null; leave it out, or write {}")
	}
	fields := reflect.ValueOf(dst).Elem()
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if err := decodeMember(fields, name, members[name]); err != nil {
			return err
		}
	}
	return nil
}

func decodeMember(fields reflect.Value, name string, value json.RawMessage) error {
	for i := range fields.NumField() {
		if tag, ok := fields.Type().Field(i).Tag.Lookup("json"); !ok || tag != name {
			continue
		}
		if bytes.Equal(value, []byte("null")) {
			return fmt.Errorf("member %q is null; leave it out instead", name)
		}
		if err := json.Unmarshal(value, fields.Field(i).Addr().Interface()); err != nil {
			return fmt.Errorf("member %q: %w", name, err)
		}
		return nil
	}
	return fmt.Errorf("unknown member %q", name)
}

// Int is an integer that may be spelled as a number without a fraction, as some writers do: 5.0 is 5.
type Int int64

// UnmarshalJSON implements [json.Unmarshaler].
func (n *Int) UnmarshalJSON(text []byte) error {
	if v, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		*n = Int(v)
		return nil
	}
	const exact = 1 << 53 // beyond it a float64 may stand for several integers
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || v != math.Trunc(v) || math.Abs(v) > exact {
		return fmt.Errorf("%s is not an integer", text)
	}
	*n = Int(v)
	return nil
}
