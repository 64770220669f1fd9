// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
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
