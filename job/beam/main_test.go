// SPDX-License-Identifier: Apache-2.0

package beam

import (
	"flag"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
)

// TestMain prepares Beam, whose runner for tests is Prism in this process.
func TestMain(m *testing.M) {
	flag.Parse()
	beam.Init()
	if !testing.Verbose() {
		slog.SetDefault(slog.New(slog.DiscardHandler))
	}
	pause, mostIdle = 5*time.Millisecond, time.Hour
	os.Exit(m.Run())
}
