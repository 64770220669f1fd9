// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"

	"varve.dev/zarr/bench/protocol"
)

// copyFiles copies every file. It syncs files and directories if the request asks for it.
func copyFiles(r protocol.Request) (a protocol.Answer, err error) {
	names, begins, total, err := files(r.Store)
	if err != nil {
		return a, err
	}
	buffers := sync.Pool{New: func() any { return new([]byte) }}
	t := protocol.Start()
	err = each(len(names), func(i int) error {
		buffer := buffers.Get().(*[]byte)
		defer buffers.Put(buffer)
		n := int(begins[i+1] - begins[i])
		*buffer = slices.Grow((*buffer)[:0], n)[:n]
		if err := load(names[i], *buffer); err != nil {
			return err
		}
		name, err := filepath.Rel(r.Store, names[i])
		if err != nil {
			return err
		}
		return store(filepath.Join(r.Target, name), *buffer, r.Sync)
	})
	if err == nil && r.Sync {
		err = syncTree(r.Target, false)
	}
	a.Seconds, a.CPU = t.Stop()
	a.Bytes = total
	return a, err
}

// store writes a file, and creates the folders above it.
func store(name string, data []byte, sync bool) error {
	f, err := os.Create(name)
	if os.IsNotExist(err) {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		f, err = os.Create(name)
	}
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		f.Close()
		return err
	}
	if sync {
		if err := f.Sync(); err != nil {
			f.Close()
			return err
		}
	}
	return f.Close()
}

// copyTree copies the files of chunks with cp, and syncs them if the request asks for it.
func copyTree(r protocol.Request) (a protocol.Answer, err error) {
	how := "-R"
	if r.Work == protocol.Link {
		how = "-Rl"
	}
	target := filepath.Join(r.Target, "copied")
	t := protocol.Start()
	if text, err := exec.Command("cp", how, filepath.Join(r.Store, "c"), target).CombinedOutput(); err != nil {
		return a, fmt.Errorf("cp: %w: %s", err, text)
	}
	if r.Sync {
		err = syncTree(target, r.Work == protocol.Files)
	}
	a.Seconds, a.CPU = t.Stop()
	return a, err
}

// syncTree makes folders durable, and with all also their files.
func syncTree(dir string, all bool) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !all && !e.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		return f.Sync()
	})
}

// pack reads all files, and writes their bytes into fewer ones.
func pack(r protocol.Request) (a protocol.Answer, err error) {
	t := protocol.Start()
	names, begins, total, err := files(r.Store)
	if err != nil {
		return a, err
	}
	err = each(r.Count, func(i int) error {
		return packOne(filepath.Join(r.Target, fmt.Sprint(i)), names, begins, i*len(names)/r.Count, (i+1)*len(names)/r.Count, r.Sync)
	})
	if err == nil && r.Sync {
		err = syncTree(r.Target, false)
	}
	a.Seconds, a.CPU = t.Stop()
	a.Bytes = total
	return a, err
}

// packOne writes the bytes of files from first to before end into one.
func packOne(target string, names []string, begins []int64, first, end int, sync bool) error {
	f, err := os.Create(target)
	if err != nil {
		return err
	}
	defer f.Close()
	var buffer []byte
	for i := first; i < end; i++ {
		n := begins[i+1] - begins[i]
		if int64(cap(buffer)) < n {
			buffer = make([]byte, n)
		}
		if err := load(names[i], buffer[:n]); err != nil {
			return err
		}
		if _, err := f.Write(buffer[:n]); err != nil {
			return err
		}
	}
	if sync {
		return f.Sync()
	}
	return nil
}
