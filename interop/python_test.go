// SPDX-License-Identifier: Apache-2.0

package interop

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
	"slices"
	"testing"
)

//go:embed oracle.py
var program string

// python is zarr-python in a process of its own.
type python struct {
	in      *json.Encoder
	out     *bufio.Reader
	scratch string // file for data
}

// request is a request to oracle.py. Each operation uses some fields.
type request struct {
	Op         string         `json:"op"`
	Path       string         `json:"path"`
	Spec       *spec          `json:"spec,omitempty"`
	Data       string         `json:"data,omitempty"`
	Shape      []int64        `json:"shape"`
	Axis       int            `json:"axis"`
	Region     region         `json:"region"`
	Pipeline   string         `json:"pipeline"`
	Attributes map[string]any `json:"attributes"`

	// Member is an array of the group at Path, opened through the consolidated metadata
	// of the group.
	Member       string     `json:"member"`
	Consolidated bool       `json:"consolidated"`
	Cases        []autoCase `json:"cases,omitempty"`
}

// startPython starts the interpreter. Without one it skips the test.
func startPython(t *testing.T) *python {
	t.Helper()
	command := exec.Command(interpreter(t), "-u", "-c", program)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, in, command) })
	p := &python{json.NewEncoder(in), bufio.NewReader(out), filepath.Join(t.TempDir(), "data")}
	var version string
	p.ask(t, request{Op: "version"}, &version)
	t.Logf("zarr-python %s", version)
	return p
}

func stop(t *testing.T, in io.Closer, command *exec.Cmd) {
	if err := errors.Join(in.Close(), command.Wait()); err != nil {
		t.Error(err)
	}
}

// interpreter returns the path of a Python that has zarr-python.
func interpreter(t *testing.T) string {
	if path := os.Getenv("ZARR_PYTHON"); path != "" {
		return path
	}
	for _, name := range []string{"venv/bin/python", "sid-python"} {
		path := filepath.Join(cache(), name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	missing := "no interpreter with zarr-python, so nothing is compared with it; run interop/setup, or set ZARR_PYTHON"
	if os.Getenv("CI") == "true" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// cache returns the folder that the script setup fills.
func cache() string {
	if dir := os.Getenv("VARVE_INTEROP_CACHE"); dir != "" {
		return dir
	}
	if dir := os.Getenv("XDG_CACHE_HOME"); dir != "" {
		return filepath.Join(dir, "varve-interop")
	}
	return filepath.Join(os.Getenv("HOME"), ".cache", "varve-interop")
}

// ask sends a request and decodes the answer.
func (p *python) ask(t *testing.T, r request, ok any) {
	t.Helper()
	if err := p.in.Encode(r); err != nil {
		t.Fatalf("%s: %v", r.Op, err)
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		t.Fatalf("%s: zarr-python ended: %v", r.Op, err)
	}
	var answer struct {
		OK    json.RawMessage `json:"ok"`
		Error string          `json:"error"`
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		t.Fatalf("%s: %v in %s", r.Op, err, line)
	}
	if answer.Error != "" {
		t.Fatalf("zarr-python: %s %s: %s", r.Op, r.Path, answer.Error)
	}
	if ok != nil {
		decode(t, answer.OK, ok)
	}
}

func (p *python) name() string { return "zarr-python" }

// create creates an array whose edges end at the extent, as zarr-python demands; see
// [respell]. For shards it creates an array as long as the edges and shrinks it.
func (p *python) create(t *testing.T, path string, s spec) {
	if s.units != nil {
		shape := s.Shape
		s.Shape = slices.Clone(shape)
		for i, c := range s.Chunks {
			if c.edges != nil {
				s.Shape[i] = c.covered()
			}
		}
		p.ask(t, request{Op: "create", Path: path, Spec: &s}, nil)
		p.resize(t, path, shape)
		return
	}
	s.Chunks = slices.Clone(s.Chunks)
	for i, c := range s.Chunks {
		if c.edges != nil && s.Shape[i] > 0 {
			s.Chunks[i].edges = c.sizes(s.Shape[i])
		}
	}
	p.ask(t, request{Op: "create", Path: path, Spec: &s}, nil)
}

func (p *python) write(t *testing.T, path string, data []byte) {
	p.ask(t, request{Op: "write", Path: path, Data: p.put(t, data)}, nil)
}

// writePart writes a part of the array.
func (p *python) writePart(t *testing.T, path string, at region, data []byte) {
	p.ask(t, request{Op: "write_part", Path: path, Region: at, Data: p.put(t, data)}, nil)
}

// readPart reads a part of the array.
func (p *python) readPart(t *testing.T, path string, at region) []byte {
	t.Helper()
	p.ask(t, request{Op: "read_part", Path: path, Region: at, Data: p.scratch}, nil)
	data, err := os.ReadFile(p.scratch)
	check(t, err)
	return data
}

// keep opens an array and keeps it open, as it is now.
func (p *python) keep(t *testing.T, path string) {
	t.Helper()
	p.ask(t, request{Op: "keep", Path: path}, nil)
}

// readKept reads an array that is kept open.
func (p *python) readKept(t *testing.T, path string) []byte {
	t.Helper()
	p.ask(t, request{Op: "read_kept", Path: path, Data: p.scratch}, nil)
	data, err := os.ReadFile(p.scratch)
	check(t, err)
	return data
}

func (p *python) append(t *testing.T, path string, axis int, b block) {
	p.ask(t, request{Op: "append", Path: path, Axis: axis, Shape: b.shape, Data: p.put(t, b.data)}, nil)
}

func (p *python) resize(t *testing.T, path string, shape []int64) {
	p.ask(t, request{Op: "resize", Path: path, Shape: shape}, nil)
}

func (p *python) createGroup(t *testing.T, path string, attributes map[string]any) {
	p.ask(t, request{Op: "create_group", Path: path, Attributes: attributes}, nil)
}

func (p *python) members(t *testing.T, path string) tree {
	var found tree
	p.ask(t, request{Op: "members", Path: path}, &found)
	return found
}

func (p *python) read(t *testing.T, path string) state { return p.readMember(t, path, "") }

// readMember reads the array at path, or a member of the group there through its
// consolidated metadata.
func (p *python) readMember(t *testing.T, path, member string) state {
	t.Helper()
	var answer struct {
		state
		Fill string
	}
	p.ask(t, request{Op: "read", Path: path, Member: member, Data: p.scratch}, &answer)
	s := answer.state
	var err error
	if s.Fill, err = hex.DecodeString(answer.Fill); err != nil {
		t.Fatal(err)
	}
	if s.Data, err = os.ReadFile(p.scratch); err != nil {
		t.Fatal(err)
	}
	return s
}

// put writes data to the file that both processes share.
func (p *python) put(t *testing.T, data []byte) string {
	if err := os.WriteFile(p.scratch, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return p.scratch
}
