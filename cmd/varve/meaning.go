package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"

	"varve.dev/zarr/dtype"
)

// alike reports whether two records of a node mean the same. zarr-python, which makes consolidated
// metadata from documents that it has read, spells out members that Varve leaves out, and the other
// way round.
func alike(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, y := recordOf(a), recordOf(b)
	return x != nil && y != nil && reflect.DeepEqual(x, y)
}

// recordOf returns a record in a form that depends on its meaning alone, nil where it is no JSON object.
func recordOf(raw []byte) map[string]any {
	d := json.NewDecoder(bytes.NewReader(quoteNumbers(raw)))
	d.UseNumber()
	var r map[string]any
	if d.Decode(&r) != nil {
		return nil
	}
	if _, is := r["zarr_format"]; is {
		return plainV3(r)
	}
	for _, name := range []string{".zarray", ".zgroup"} {
		if doc, is := r[name].(map[string]any); is {
			r[name] = plainValue(plainV2(doc))
		}
	}
	r[".zattrs"] = plainValue(r[".zattrs"])
	dropDefaults(r, map[string]any{".zattrs": map[string]any{}})
	return r
}

// plainV3 leaves out of a document of format 3 what is the same without it.
func plainV3(doc map[string]any) map[string]any {
	attributes := plainValue(doc["attributes"])
	delete(doc, "attributes")
	delete(doc, "consolidated_metadata") // it is about other nodes
	for name, v := range doc {
		doc[name] = plainExtension(v)
	}
	doc["attributes"] = attributes
	if names, ok := doc["dimension_names"].([]any); ok && !slices.ContainsFunc(names, func(n any) bool { return n != nil }) {
		delete(doc, "dimension_names")
	}
	plainFill(doc)
	dropDefaults(doc, map[string]any{"attributes": map[string]any{}, "storage_transformers": []any{}})
	return doc
}

// plainV2 leaves out of a document of format 2 what is the same without it.
func plainV2(doc map[string]any) map[string]any {
	dropDefaults(doc, map[string]any{"filters": []any{}, "dimension_separator": "."})
	return doc
}

// dropDefaults removes members that are null or have the value that a member has which is not there.
func dropDefaults(doc map[string]any, defaults map[string]any) {
	for name, v := range defaults {
		if is, there := doc[name]; there && (is == nil || reflect.DeepEqual(is, v)) {
			delete(doc, name)
		}
	}
	maps.DeleteFunc(doc, func(name string, v any) bool { return v == nil && name != "fill_value" })
}

// plainFill makes a fill value one text, however it is spelled: NaN is also the bits of it.
func plainFill(doc map[string]any) {
	name, ok := doc["data_type"].(string)
	raw, err := json.Marshal(doc["fill_value"])
	if !ok || err != nil {
		return
	}
	t, err := dtype.Parse(name, nil)
	if err != nil {
		return
	}
	if elem, err := t.ParseFill(raw); err == nil {
		doc["fill_value"] = string(elem)
	}
	if t.Size() == 1 {
		doc["codecs"] = withoutEndian(doc["codecs"])
	}
}

// withoutEndian leaves the byte order out of the codec "bytes" of a chain whose elements are single bytes.
func withoutEndian(codecs any) any {
	list, _ := codecs.([]any)
	for i, c := range list {
		e, _ := c.(map[string]any)
		config, _ := e["configuration"].(map[string]any)
		switch {
		case e["name"] == "bytes" && len(config) == 1 && config["endian"] != nil:
			list[i] = "bytes"
		case e["name"] == "sharding_indexed":
			config["codecs"] = withoutEndian(config["codecs"])
		}
	}
	return codecs
}

// extensionDefaults are members of a configuration that are the same when they are not there.
var extensionDefaults = map[string]map[string]any{
	"default":          {"separator": "/"},
	"v2":               {"separator": "."},
	"sharding_indexed": {"index_location": "end"},
	"zstd":             {"checksum": false},
}

// plainExtension makes every extension in a value its name alone where it has nothing to configure.
func plainExtension(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = plainExtension(v[i])
		}
	case map[string]any:
		for name, m := range v {
			v[name] = plainExtension(m)
		}
		name, is := v["name"].(string)
		if !is {
			return v
		}
		if config, ok := v["configuration"].(map[string]any); ok {
			dropDefaults(config, extensionDefaults[name])
			if len(config) == 0 {
				delete(v, "configuration")
			}
		}
		dropDefaults(v, map[string]any{"must_understand": true})
		if len(v) == 1 {
			return name
		}
	}
	return plainValue(v)
}

// plainValue makes numbers of a value what they amount to: 1.0 is 1, and 1e2 is 100.
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

// plainNumber keeps the text of whole numbers, which may have more digits than a float64, and of
// numbers that are too large for one.
func plainNumber(n json.Number) any {
	if _, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil || !bytes.ContainsAny([]byte(n), ".eE") {
		return n
	}
	if i := int64(f); !(f == 0 && math.Signbit(f)) && f > -1<<53 && f < 1<<53 && float64(i) == f {
		return json.Number(strconv.FormatInt(i, 10))
	}
	return f
}

// quoteNumbers makes text of NaN and Infinity, which Python writes as they are and JSON does not have.
func quoteNumbers(raw []byte) []byte {
	var out []byte
	for i := 0; i < len(raw); {
		n := 1
		switch raw[i] {
		case '"':
			for ; i+n < len(raw) && raw[i+n] != '"'; n++ {
				if raw[i+n] == '\\' {
					n++
				}
			}
			n = min(n+1, len(raw)-i)
			out = append(out, raw[i:i+n]...)
			i += n
			continue
		}
		for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
			if bytes.HasPrefix(raw[i:], []byte(word)) {
				out = strconv.AppendQuote(out, word)
				i, n = i+len(word), 0
				break
			}
		}
		out = append(out, raw[i:i+n]...)
		i += n
	}
	return out
}
