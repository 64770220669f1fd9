// SPDX-License-Identifier: Apache-2.0

package azure_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/zarr/internal/test/arrays"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/azure"
	"varve.dev/zarr/store/retry"
	"varve.dev/zarr/store/storetest"
)

// The account of Azurite, whose key is public.
const (
	account = "devstoreaccount1"
	key     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// quick repeats requests after short pauses.
var quick = retry.Policy{Pause: time.Millisecond, LongestPause: 20 * time.Millisecond, Total: time.Minute}

// TestAzurite runs the conformance suite against Azurite, the emulator of the service's
// makers, if it is installed.
func TestAzurite(t *testing.T) {
	endpoint := emulator(t)
	var n atomic.Int64
	storetest.Run(t, func(t *testing.T) store.Store {
		container := fmt.Sprintf("container-%d", n.Add(1))
		create(t, endpoint, container)
		s, err := azure.Open(account, container, "a b+%20/era5.zarr", &azure.Options{Endpoint: endpoint, Key: key, Retry: quick})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	})
}

// create makes a container.
func create(t *testing.T, endpoint, container string) {
	t.Helper()
	if err := azure.CreateContainer(context.Background(), account, container, &azure.Options{Endpoint: endpoint, Key: key}); err != nil {
		t.Fatal(err)
	}
}

// emulator starts Azurite and returns the URL of its account.
func emulator(t *testing.T) string {
	t.Helper()
	return arrays.Emulator(t, "azurite-blob", "azurite", func(port string) []string {
		return []string{"--blobHost", "127.0.0.1", "--blobPort", port, "--silent", "--skipApiVersionCheck", "--inMemoryPersistence", "--disableTelemetry"}
	}) + "/" + account
}
