// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"bufio"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"varve.dev/zarr"
	_ "varve.dev/zarr/codec/extra"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
)

// peer is an implementation.
type peer interface {
	write(t *testing.T, a array, path string) (string, error)
	read(t *testing.T, a array, path string) (any, error)
}

var (
	//go:embed peer.py
	pythonProgram string
	//go:embed peer.js
	nodeProgram string
)

// programs are the arguments of peer.py for the peers that it runs.
var programs = map[string]string{
	"zarr-2.18": "zarr2", "zarr-3.0": "zarr3", "zarr-3.1": "zarr3", "zarr-3.2": "zarr3", "zarr-3.3": "zarr3", "zarr-3.4": "zarr3",
	"tensorstore": "tensorstore", "zarrs": "zarrs", "gdal": "gdal",
}

// names are all peers, including Varve.
var names = []string{"varve", "zarr-2.18", "zarr-3.0", "zarr-3.1", "zarr-3.2", "zarr-3.3", "zarr-3.4", "tensorstore", "zarrs", "zarrita", "gdal"}

func cache() string {
	for _, at := range [][2]string{{"VARVE_INTEROP_CACHE", ""}, {"XDG_CACHE_HOME", "varve-interop"}} {
		if dir := os.Getenv(at[0]); dir != "" {
			return filepath.Join(dir, at[1])
		}
	}
	return filepath.Join(os.Getenv("HOME"), ".cache", "varve-interop")
}

// start starts a peer. It returns nil if the peer is not installed.
func start(t *testing.T, name string) peer {
	t.Helper()
	var command *exec.Cmd
	switch name {
	case "varve":
		return varve{}
	case "zarrita":
		dir := filepath.Join(cache(), "zarrita")
		if _, err := os.Stat(filepath.Join(dir, "node_modules", "zarrita")); err != nil {
			return nil
		}
		command = exec.Command("node", "--input-type=module", "--eval", nodeProgram)
		command.Dir = dir
	default:
		python := filepath.Join(cache(), "peers", name, "bin", "python")
		if _, err := os.Stat(python); err != nil {
			return nil
		}
		command = exec.Command(python, "-u", "-c", pythonProgram, programs[name])
	}
	var errs noise
	command.Stderr = &errs
	in, err := command.StdinPipe()
	check(t, err)
	out, err := command.StdoutPipe()
	check(t, err)
	check(t, command.Start())
	t.Cleanup(func() {
		if err := errors.Join(in.Close(), command.Wait()); err != nil {
			t.Errorf("%s: %v\n%s", name, err, errs.last)
		}
	})
	return &process{name, in, bufio.NewReader(out), &errs}
}

// noise keeps the last bytes that a program writes to standard error.
type noise struct{ last []byte }

func (n *noise) Write(p []byte) (int, error) {
	n.last = append(n.last, p...)
	n.last = n.last[max(0, len(n.last)-4096):]
	return len(p), nil
}

// process is a peer in a process of its own.
type process struct {
	name string
	in   io.Writer
	out  *bufio.Reader
	errs *noise
}

type reply struct {
	Path  string
	Data  any
	Error string
}

func (p *process) ask(t *testing.T, request object) (reply, error) {
	t.Helper()
	check(t, json.NewEncoder(p.in).Encode(request))
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		t.Fatalf("%s ended: %v\n%s", p.name, err, p.errs.last)
	}
	var r reply
	check(t, json.Unmarshal(line, &r))
	if r.Error != "" {
		return r, errors.New(r.Error)
	}
	return r, nil
}

func (p *process) write(t *testing.T, a array, path string) (string, error) {
	r, err := p.ask(t, object{"op": "write", "path": path, "format": a.format, "document": a.document, "dtype": a.dtype, "rows": a.rows, "data": a.data})
	return r.Path, err
}

func (p *process) read(t *testing.T, a array, path string) (any, error) {
	r, err := p.ask(t, object{"op": "read", "path": path, "format": a.format, "dtype": a.dtype})
	return r.Data, err
}

// varve is the module under test.
type varve struct{}

func (varve) write(t *testing.T, a array, path string) (string, error) {
	document, err := json.Marshal(a.document)
	check(t, err)
	parse := metadata.ParseArray
	if a.format == 2 {
		parse = func(data []byte, l metadata.Limits) (*metadata.Array, error) {
			return metadata.ParseArrayV2(data, nil, l)
		}
	}
	doc, err := parse(document, metadata.Limits{})
	if err != nil {
		return "", err
	}
	spec, err := zarr.SpecOf(doc)
	if err != nil {
		return "", err
	}
	made, err := zarr.CreateArray(t.Context(), path, spec, &zarr.CreateOptions{Format: a.format})
	if err != nil {
		return "", err
	}
	defer made.Close()
	box := selection.Box{}
	for _, n := range made.Shape() {
		box = append(box, [2]int64{0, n})
	}
	if len(box) > 0 {
		box[0][1] = int64(a.rows)
	}
	if texts, ok := a.data.([]string); ok {
		return path, zarr.Write(t.Context(), made, box, texts)
	}
	data, err := hex.DecodeString(a.data.(string))
	check(t, err)
	return path, made.WriteBytes(t.Context(), box, data)
}

func (varve) read(t *testing.T, a array, path string) (any, error) {
	opened, err := zarr.OpenArray(t.Context(), path, nil)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	if a.dtype == "string" {
		block, err := zarr.Read[string](t.Context(), opened, nil)
		if err != nil {
			return nil, err
		}
		return block.Data, nil
	}
	r, err := opened.Select(nil)
	if err != nil {
		return nil, err
	}
	data := make([]byte, r.Len()*int64(opened.Type().Size()))
	err = opened.ReadBytes(t.Context(), nil, data)
	return hex.EncodeToString(data), err
}

// same reports whether two peers read the same elements.
func same(got, want any) bool {
	if list, ok := got.([]any); ok {
		texts := make([]string, len(list))
		for i, v := range list {
			texts[i], _ = v.(string)
		}
		got = texts
	}
	return reflect.DeepEqual(got, want)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
