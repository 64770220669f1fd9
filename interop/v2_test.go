// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/metadata"
)

// TestV2 reads arrays of format 2 of zarr-python, appends to them and copies them.
// zarr-python reads the results.
func TestV2(t *testing.T) {
	dir, run := t.TempDir(), scriptV2(t)
	seed, n := seed(t), max(50, cases())
	run("write", dir, strconv.FormatUint(seed, 10), strconv.Itoa(n))
	read := 0
	for i := range n {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			path := filepath.Join(dir, strconv.Itoa(i))
			a, err := zarr.OpenArray(t.Context(), path+".zarr", &zarr.Options{Write: true})
			if errors.Is(err, zarr.ErrUnsupported) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			read++
			compareV2(t, a, path+".bin")
			copyV2(t, a, path)
			growV2(t, a, path)
		})
	}
	if out := run("judge", dir); out != "" {
		t.Error(out)
	}
	t.Logf("seed %d: %d of %d arrays were read", seed, read, n)
}

// scriptV2 returns a function that runs v2.py and returns its output.
func scriptV2(t *testing.T) func(args ...string) string {
	python := interpreter(t)
	return func(args ...string) string {
		out, err := exec.Command(python, append([]string{"v2.py"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
}

// TestGroupV2 changes a group of format 2 of zarr-python with its consolidated metadata.
// zarr-python finds the changes there, and also in a group that Varve wrote.
func TestGroupV2(t *testing.T) {
	run, ctx := scriptV2(t), t.Context()
	path := filepath.Join(t.TempDir(), "g.zarr")
	run("group", path)
	a, err := zarr.OpenArray(ctx, path+"/a", &zarr.Options{Write: true})
	if err == nil {
		err = zarr.Append(ctx, a, 0, []int32{6, 7, 8}, nil)
	}
	if err == nil {
		err = a.UpdateAttributes(ctx, func(o []byte) ([]byte, error) { return metadata.SetAttribute(o, "k", []byte("1.50")) })
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := zarr.CreateArray(ctx, path+"/deep/c", zarr.Spec{Shape: []int64{2, 2}, Type: dtype.Float64}, nil); err != nil {
		t.Fatal(err)
	}
	g, err := zarr.OpenGroup(ctx, path, &zarr.Options{Write: true})
	if err == nil {
		err = g.UpdateAttributes(ctx, func(o []byte) ([]byte, error) { return metadata.SetAttribute(o, "v", []byte("3")) })
	}
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"": [{"v": 3}, []], "a": [{"_ARRAY_DIMENSIONS": ["t"], "k": 1.5}, [9]], "deep": [{"x": 1.5}, []], "deep/b": [{}, [3]], "deep/c": [{}, [2, 2]]}` + "\n"
	if got := run("tree", path); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if err := os.Remove(path + "/.zmetadata"); err != nil {
		t.Fatal(err)
	}
	if err := g.Consolidate(ctx); err != nil {
		t.Fatal(err)
	}
	if got := run("tree", path); got != want {
		t.Errorf("consolidated again:\n%s\nwant\n%s", got, want)
	}
}

// elementsV2 returns all elements of an array in the form of the script.
func elementsV2(t *testing.T, a *zarr.Array) []byte {
	t.Helper()
	if a.Type().Variable() {
		b, err := zarr.Read[string](t.Context(), a, nil)
		if err != nil {
			t.Fatal(err)
		}
		return jsonOf(t, b.Data)
	}
	size := int64(a.Type().Size())
	for _, n := range a.Shape() {
		size *= n
	}
	data := make([]byte, size)
	if err := a.ReadBytes(t.Context(), nil, data); err != nil {
		t.Fatal(err)
	}
	return data
}

func jsonOf(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func compareV2(t *testing.T, a *zarr.Array, file string) {
	t.Helper()
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := elementsV2(t, a); !bytes.Equal(got, want) {
		t.Errorf("%s: %d elements are\n%x\nwant\n%x", a.Type(), len(got), got, want)
	}
}

// copyV2 writes a copy of an array for zarr-python to read.
func copyV2(t *testing.T, a *zarr.Array, path string) {
	t.Helper()
	spec := a.Spec()
	spec.FillValue = zarr.FillValue{}
	b, err := zarr.CreateArray(t.Context(), path+"copy.zarr", spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	data := elementsV2(t, a)
	if a.Type().Variable() {
		err = zarr.Write(t.Context(), b, nil, words(t, data))
	} else {
		err = b.WriteBytes(t.Context(), nil, data)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+"copy.bin", data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// words returns the elements that the script stores as a list.
func words(t *testing.T, raw []byte) (list []string) {
	t.Helper()
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// growV2 appends the first rows of an array to it, and changes its attributes.
func growV2(t *testing.T, a *zarr.Array, path string) {
	t.Helper()
	data := elementsV2(t, a)
	var err error
	if a.Rank() > 0 && a.Shape()[0] > 0 {
		rows, of := min(a.Shape()[0], 3), a.Shape()[0]
		planes := &zarr.AppendOptions{Planes: rows} // needed if planes have no elements
		if a.Type().Variable() {
			list := words(t, data)
			err = zarr.Append(t.Context(), a, 0, list[:int64(len(list))/of*rows], planes)
		} else {
			err = a.AppendBytes(t.Context(), 0, data[:int64(len(data))/of*rows], planes)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	err = a.UpdateAttributes(t.Context(), func(o []byte) ([]byte, error) { return metadata.SetAttribute(o, "seen", []byte("true")) })
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".bin", elementsV2(t, a), 0o666); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(path+".zarr", ".zattrs"))
	if err != nil || !strings.Contains(string(raw), `"seen": true`) || strings.Contains(string(raw), `\u`) {
		t.Errorf("attributes %s (%v)", raw, err)
	}
	if !json.Valid(raw) && !strings.Contains(string(raw), "NaN") {
		t.Errorf("attributes %s", raw)
	}
}
