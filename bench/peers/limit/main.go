// SPDX-License-Identifier: Apache-2.0

// Limit measures the limits of a machine for the benchmarks. It reads the files of chunks
// into one block, decodes zstd frames in memory, and copies files, on all cores and
// without Zarr. It does not assemble arrays.
package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"varve.dev/zarr/bench/protocol"
)

func main() {
	if err := run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	r, err := protocol.Parse(args)
	if err != nil {
		return err
	}
	if r.Files != "" && r.Work == protocol.ReadAll {
		answer, err := download(r)
		if err != nil {
			return err
		}
		return answer.Print(os.Stdout)
	}
	document, _ := os.ReadFile(filepath.Join(r.Store, "zarr.json")) // a URL has none
	plain := len(document) > 0 && !bytes.Contains(document, []byte(`"zstd"`)) && !bytes.Contains(document, []byte(`"blosc"`))
	frames := bytes.Contains(document, []byte(`"zstd"`)) && !bytes.Contains(document, []byte(`"sharding_indexed"`))
	answer := protocol.Answer{Unsupported: "nothing to compare with"}
	switch {
	case r.Work == protocol.Files || r.Work == protocol.Link:
		answer, err = copyTree(r)
	case r.Work == protocol.Pack:
		answer, err = pack(r)
	case r.Work == protocol.ReadAll && plain:
		answer, err = read(r)
	case r.Work == protocol.ReadAll && frames:
		answer, err = decode(r)
	case r.Work == protocol.Copy && plain:
		answer, err = copyFiles(r)
	}
	if err != nil {
		return err
	}
	return answer.Print(os.Stdout)
}

// files returns the names of all chunks, and their offsets if they are stored one after
// another.
func files(store string) (names []string, begins []int64, total int64, err error) {
	err = filepath.WalkDir(filepath.Join(store, "c"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		names, begins = append(names, path), append(begins, total)
		total += info.Size()
		return nil
	})
	return names, append(begins, total), total, err
}

// each calls f for 0 to n-1 on all cores.
func each(n int, f func(i int) error) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, runtime.GOMAXPROCS(0))
	for w := range errs {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && errs[w] == nil; i = int(next.Add(1)) - 1 {
				errs[w] = f(i)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// load fills a buffer with a file.
func load(name string, dst []byte) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.ReadAt(dst, 0)
	return err
}

func read(r protocol.Request) (a protocol.Answer, err error) {
	names, begins, total, err := files(r.Store)
	if err != nil {
		return a, err
	}
	t := protocol.Start()
	block := make([]byte, total)
	advise(block)
	err = each(len(names), func(i int) error { return load(names[i], block[begins[i]:begins[i+1]]) })
	a.Seconds, a.CPU = t.Stop()
	a.Bytes = total
	return a, err
}

func decode(r protocol.Request) (a protocol.Answer, err error) {
	names, begins, total, err := files(r.Store)
	if err != nil {
		return a, err
	}
	encoded := make([]byte, total)
	places := make([]int64, len(names)+1)
	for i, name := range names {
		frame := encoded[begins[i]:begins[i+1]]
		if err := load(name, frame); err != nil {
			return a, err
		}
		var h zstd.Header
		if err := h.Decode(frame); err != nil {
			return a, err
		}
		places[i+1] = places[i] + int64(h.FrameContentSize)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0))
	if err != nil {
		return a, err
	}
	t := protocol.Start()
	block := make([]byte, places[len(names)])
	advise(block)
	err = each(len(names), func(i int) error {
		_, err := decoder.DecodeAll(encoded[begins[i]:begins[i+1]], block[places[i]:places[i]:places[i+1]])
		return err
	})
	a.Seconds, a.CPU = t.Stop()
	a.Bytes = int64(len(block))
	return a, err
}
