// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/store"
)

// weigh returns the number of files below a folder, and their bytes.
func weigh(dir string) (files, bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil // what goes meanwhile is not there
		}
		if i, err := e.Info(); err == nil {
			files, bytes = files+1, bytes+i.Size()
		}
		return nil
	})
	return files, bytes
}

// fragment leaves dead bytes in every shard of an array of int8.
func fragment(t *testing.T, node string) {
	t.Helper()
	a, err := zarr.OpenArray(t.Context(), node, &zarr.Options{Write: true, Durability: store.Flush, Shards: zarr.Shards{Strategy: codec.Append}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for i := range a.Grid().Chunks()[0] {
		if err := a.Inner().WriteChunk(t.Context(), []int64{2 * i}, []byte{2, 2}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSignalInWork interrupts commands that have stored a part of their result. They must
// report what is left. When repeated, they must have the same result as without the
// interrupt, and leave no other file.
func TestSignalInWork(t *testing.T) {
	signals := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}
	const chunks = 800
	ones := func(t *testing.T, dir string) {
		must(t, "", "create", dir+"/a", "--shape", fmt.Sprint(chunks), "--dtype", "int8", "--chunks", "1")
		must(t, "", "write", dir+"/a", "--value", "1")
	}
	for i, c := range []struct {
		args, says string // DIR is a folder
		result     string // in it
		begin      func(t *testing.T, dir string)
	}{
		{"write DIR/a --value 1 --yes", "repeat the command", "a", func(t *testing.T, dir string) {
			must(t, "", "create", dir+"/a", "--shape", fmt.Sprint(chunks), "--dtype", "int8", "--chunks", "1")
		}},
		{"create DIR/b --from DIR/a.npy --chunks 1", "the new array was deleted again", "b", func(t *testing.T, dir string) {
			ones(t, dir)
			must(t, "", "export", dir+"/a", "-o", dir+"/a.npy")
		}},
		{"compact DIR/a --shards", "repeat the command", "a", func(t *testing.T, dir string) {
			must(t, "", "create", dir+"/a", "--shape", "2000", "--dtype", "int8", "--shards", "4", "--chunks", "2", "--compressor", "none")
			must(t, "", "write", dir+"/a", "--value", "1")
			fragment(t, dir+"/a")
		}},
		{"copy DIR/a DIR/b --move", "not visible: repeat the command", "b", ones},
		{"filter DIR/a DIR/b --mask DIR/mask", "not visible: repeat the command, which continues", "b", func(t *testing.T, dir string) {
			ones(t, dir)
			overwrite(t, dir+"/mask", "\x00"+strings.Repeat("\x01", chunks-1))
		}},
		{"resize DIR/a --shape 300,4 --shrink trim-exact --yes", "nothing was changed", "a", func(t *testing.T, dir string) {
			must(t, "", "create", dir+"/a", "--shape", "300,5", "--dtype", "int8", "--chunks", "[1,[5]]")
			must(t, "", "write", dir+"/a", "--value", "1")
		}},
	} {
		signal := signals[i%len(signals)]
		name, _, _ := strings.Cut(c.args, " ")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, other := t.TempDir(), t.TempDir()
			c.begin(t, dir)
			if err := os.CopyFS(other, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			must(t, "", strings.Fields(strings.ReplaceAll(c.args, "DIR", other))...)
			result := filepath.Join(dir, c.result)
			files, bytes := weigh(result)
			args := strings.Fields(strings.ReplaceAll(c.args, "DIR", dir))
			p := start(t, args...)
			status, stopped := p.stop(t, signal, func() bool {
				f, b := weigh(result)
				return f > files+3 || f == files && b != bytes // what is begun has a note, and temporary files
			})
			said := p.errs.String()
			switch {
			case status == 0: // it was done already
				t.Logf("not stopped: %v", stopped)
			case status != 128+int(signal) || !isOneMessage(said, c.says):
				t.Errorf("status %d, stopped %v, %s", status, stopped, said)
			default:
				t.Log(said)
				must(t, "", args...)
			}
			must(t, "", "check", result)
			must(t, "", "equal", result, filepath.Join(other, c.result))
			noTemporaries(t, dir)
		})
	}
}
