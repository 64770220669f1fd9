package metadata

import "testing"

func TestExtensionEqual(t *testing.T) {
	of := func(configuration string) Extension {
		return Extension{Name: "x", Configuration: []byte(configuration)}
	}
	for _, c := range []struct {
		a, b  string
		equal bool
	}{
		{`{"level":1,"checksum":false}`, "{\n  \"checksum\": false,\n  \"level\": 1\n}", true},
		{`{"level":1}`, `{"level":2}`, false},
		{`{"level":1}`, `{"level":"1"}`, false},
		{`{"level":9007199254740993}`, `{ "level":9007199254740992}`, false},
		{`{"level":1}`, `{"level":1`, false},
		{`{"order":[0,1]}`, `{"order": [0, 1]}`, true},
		{`{"order":[0,1]}`, `{"order":[1,0]}`, false},
	} {
		if got := of(c.a).Equal(of(c.b)); got != c.equal {
			t.Errorf("%s equals %s: %t", c.a, c.b, got)
		}
	}
	if (Extension{Name: "x"}).Equal(of(`{}`)) || (Extension{Name: "x"}).Equal(Extension{Name: "y"}) {
		t.Error("different extensions are equal")
	}
}
