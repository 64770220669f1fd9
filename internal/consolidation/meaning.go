// SPDX-License-Identifier: Apache-2.0

package consolidation

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"strconv"

	"varve.dev/zarr/internal/likeness"
	"varve.dev/zarr/metadata"
)

// alike reports whether two records of a node have the same meaning. zarr-python makes
// consolidated metadata from parsed documents: it spells out members that Varve leaves
// out, and leaves out others.
func alike(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, y := meaningOf(a), meaningOf(b)
	return x != nil && y != nil && reflect.DeepEqual(x, y)
}

// meaningOf returns a record in a form that depends only on its meaning, or nil if the
// record is damaged. A record with unknown required extensions keeps its spelling.
func meaningOf(record []byte) []any {
	if metadata.NodeType(record) == "" {
		return meaningOfV2(record)
	}
	node, err := metadata.Parse(record, metadata.Limits{})
	var attributes []byte
	switch n := node.(type) {
	case *metadata.Array:
		attributes = n.Attributes
		if err == nil {
			node, err = likeness.Complete(n).WithAttributes([]byte("{}"))
		}
	case *metadata.Group:
		attributes = n.Attributes
		if err == nil { // consolidated metadata is not part of the node
			node, err = n.WithConsolidated(nil).WithAttributes([]byte("{}"))
		}
	default:
		return nil
	}
	if err == nil {
		record, err = node.Marshal(metadata.Limits{})
	}
	if err != nil {
		return []any{valueOf(record)}
	}
	return []any{valueOf(record), valueOf(attributes)}
}

// meaningOfV2 is meaningOf for format 2, in which a record has several documents.
func meaningOfV2(record []byte) []any {
	r, ok := valueOf(record).(map[string]any)
	if !ok {
		return nil
	}
	for _, name := range []string{metadata.V2Array, metadata.V2Group} {
		doc, _ := r[name].(map[string]any)
		dropDefaults(doc, map[string]any{"filters": []any{}, "dimension_separator": "."})
	}
	dropDefaults(r, map[string]any{metadata.V2Attributes: map[string]any{}})
	return []any{r}
}

// dropDefaults removes members that are null or have their default.
func dropDefaults(doc map[string]any, defaults map[string]any) {
	maps.DeleteFunc(doc, func(name string, v any) bool {
		standard, ok := defaults[name]
		// A null fill value has a meaning in format 2: there is none.
		return v == nil && name != "fill_value" || ok && reflect.DeepEqual(v, standard)
	})
}

// valueOf returns the value of a JSON text with normalized numbers. It returns nil if the
// text is not JSON.
func valueOf(raw []byte) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return plainValue(v)
}

// plainValue normalizes the numbers of a value: 1.0 becomes 1, and 1e2 becomes 100.
func plainValue(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = plainValue(v[i])
		}
	case map[string]any:
		for name, m := range v {
			v[name] = plainValue(m)
		}
	case json.Number:
		return plainNumber(v)
	}
	return v
}

// plainNumber keeps the text of whole numbers, which may have more digits than a float64,
// and of numbers beyond a float64.
func plainNumber(n json.Number) any {
	if _, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil || !bytes.ContainsAny([]byte(n), ".eE") {
		return n
	}
	// -0.0 stays as it is, because it differs from 0 as a fill value.
	if i := int64(f); !(f == 0 && math.Signbit(f)) && f > -1<<53 && f < 1<<53 && float64(i) == f {
		return json.Number(strconv.FormatInt(i, 10))
	}
	return f
}
