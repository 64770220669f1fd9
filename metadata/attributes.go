package metadata

import (
	"slices"

	"varve.dev/zarr/internal/strictjson"
)

// Attribute returns the JSON of the attribute key as it is spelled, and whether there is one.
// raw is a JSON object, as [Array] and [Group] have it; anything else is [ErrInvalid].
func Attribute(raw []byte, key string) (value []byte, ok bool, err error) {
	v, err := object(raw)
	if err != nil {
		return nil, false, located(err)
	}
	m, ok := v.Member(key)
	return m.Raw(), ok, nil
}

// SetAttribute returns a copy of the JSON object raw in which the attribute key has the given JSON value:
// in its old place, or behind all others. All else stays as it is spelled.
// A value that is not one JSON value, or a raw that is no object, is [ErrInvalid].
func SetAttribute(raw []byte, key string, value []byte) ([]byte, error) {
	v, err := object(raw)
	if err != nil {
		return nil, located(err)
	}
	n, err := strictjson.Parse(value, strictjson.Limits{Size: int64(len(value))})
	if err != nil {
		return nil, under(err, strictjson.Token(key))
	}
	out := replaced(v, raw, key, n.Raw())
	if _, err := object(out); err != nil {
		return nil, located(err)
	}
	return out, nil
}

func replaced(v strictjson.Value, raw []byte, key string, value []byte) []byte {
	if old, ok := v.Member(key); ok {
		return slices.Concat(raw[:old.Offset()], value, raw[old.Offset()+len(old.Raw()):])
	}
	comma := ","
	if v.Len() == 0 {
		comma = ""
	}
	name := strictjson.AppendQuote([]byte(comma), key)
	return slices.Concat(v.Raw()[:len(v.Raw())-1], name, []byte(":"), value, []byte("}"))
}

// UnsetAttribute returns a copy of the JSON object raw without the attribute key. All else stays as it is spelled.
// A raw that is no object is [ErrInvalid].
func UnsetAttribute(raw []byte, key string) ([]byte, error) {
	v, err := object(raw)
	if err != nil {
		return nil, located(err)
	}
	from := v.Offset() + 1 // behind what stays: the brace, or the value before
	for name, m := range v.Members() {
		end := m.Offset() + len(m.Raw())
		switch {
		case name != key:
			from = end
			continue
		case from == v.Offset()+1:
			end = behindComma(raw, end)
		}
		return slices.Concat(raw[:from], raw[end:]), nil
	}
	return slices.Clone(raw), nil
}

// behindComma returns the offset behind the comma that follows the value ending at i, or i where none follows.
func behindComma(raw []byte, i int) int {
	for j := i; raw[j] != '}'; j++ {
		if raw[j] == ',' {
			return j + 1
		}
	}
	return i
}

// object returns the JSON object that raw is.
func object(raw []byte) (strictjson.Value, error) {
	v, err := strictjson.Parse(raw, strictjson.Limits{Size: int64(len(raw))})
	if err == nil && v.Kind() != strictjson.Object {
		err = v.Errorf("must be an object, got %s", v.Kind())
	}
	return v, err
}
