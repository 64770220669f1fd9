// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/VictoriaMetrics/metrics"
	"varve.dev/zarr/serve"
)

// meter counts requests, and writes the records of --access-log.
type meter struct {
	set     *metrics.Set
	inWork  atomic.Int64
	kinds   sync.Map // of *series, by the kind of address
	records *slog.Logger
}

// newMeter returns a meter. The logger may be nil.
func newMeter(records *slog.Logger) *meter {
	metrics.ExposeMetadata(true) // Prometheus takes the types from the text
	m := &meter{set: metrics.NewSet(), records: records}
	m.set.NewGauge("varve_http_requests_in_work", func() float64 { return float64(m.inWork.Load()) })
	return m
}

// series are the figures of one kind of address.
type series struct {
	requests [6]*metrics.Counter // by the first digit of the status
	bytes    *metrics.Counter
	duration *metrics.PrometheusHistogram
}

// labels escapes a name as the text format of Prometheus has it.
var labels = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// figures returns those of a kind of address. There are few kinds: the nodes, and the
// addresses of the server itself.
func (m *meter) figures(kind string) *series {
	if s, is := m.kinds.Load(kind); is {
		return s.(*series)
	}
	label := labels.Replace(kind)
	s := &series{
		bytes:    m.set.GetOrCreateCounter(fmt.Sprintf(`varve_http_response_bytes_total{kind="%s"}`, label)),
		duration: m.set.GetOrCreatePrometheusHistogram(fmt.Sprintf(`varve_http_request_duration_seconds{kind="%s"}`, label)),
	}
	for i := 2; i < len(s.requests); i++ {
		s.requests[i] = m.set.GetOrCreateCounter(fmt.Sprintf(`varve_http_requests_total{kind="%s",status="%dxx"}`, label, i))
	}
	m.kinds.Store(kind, s)
	return s
}

// answered counts a request.
func (m *meter) answered(a serve.Answer) {
	s := m.figures(a.Kind)
	if class := a.Status / 100; class >= 2 && class < len(s.requests) {
		s.requests[class].Inc()
	}
	s.bytes.Add(int(a.Bytes))
	s.duration.Update(a.Duration.Seconds())
	if m.records != nil {
		m.records.Info("request", "method", a.Method, "path", a.Path, "kind", a.Kind, "status", a.Status,
			"bytes", a.Bytes, "seconds", a.Duration.Seconds(), "remote", a.Remote)
	}
}

// ServeHTTP answers with all figures, and those of the process.
func (m *meter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	m.set.WritePrometheus(w)
	metrics.WriteProcessMetrics(w)
}
