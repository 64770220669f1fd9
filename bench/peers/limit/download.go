// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"varve.dev/zarr/bench/protocol"
)

// download fetches the document and the chunks of a store on the web, the chunks into one
// block. It knows their names
// and lengths from a folder with the same store.
func download(r protocol.Request) (a protocol.Answer, err error) {
	names, begins, total, err := files(r.Files)
	if err != nil {
		return a, err
	}
	n := max(r.Concurrency, 1)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n, DisableCompression: true}}
	t := protocol.Start()
	// Every program reads the document before it knows the chunks.
	document, err := os.Stat(filepath.Join(r.Files, "zarr.json"))
	if err == nil {
		err = fetch(context.Background(), client, r.Store+"/zarr.json", make([]byte, document.Size()))
	}
	if err != nil {
		return a, err
	}
	block := make([]byte, total)
	advise(block)
	group, ctx := errgroup.WithContext(context.Background())
	var next atomic.Int64
	for range n {
		group.Go(func() error {
			for i := int(next.Add(1)) - 1; i < len(names); i = int(next.Add(1)) - 1 {
				name, err := filepath.Rel(r.Files, names[i])
				if err == nil {
					err = fetch(ctx, client, r.Store+"/"+filepath.ToSlash(name), block[begins[i]:begins[i+1]])
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	err = group.Wait()
	a.Seconds, a.CPU = t.Stop()
	a.Bytes = total
	return a, err
}

// fetch fills a buffer with the body of an answer.
func fetch(ctx context.Context, client *http.Client, url string, dst []byte) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(q)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, answer.Status)
	}
	_, err = io.ReadFull(answer.Body, dst)
	return err
}
