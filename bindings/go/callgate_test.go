package callgate

// The client against the command that CALLGATE_COMMAND names: `scripts/sidecar` sets it.

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
)

var tools = []any{map[string]any{
	"name":        "look",
	"description": "Looks something up.",
	"parameters": map[string]any{
		"type":       "object",
		"properties": map[string]any{"q": map[string]any{"type": "string"}},
		"required":   []string{"q"},
	},
}}

func start(t *testing.T, flags ...string) *Client {
	t.Helper()
	command := os.Getenv("CALLGATE_COMMAND")
	if command == "" {
		t.Fatal("CALLGATE_COMMAND must name the command")
	}
	client, err := Start(command, append([]string{"session"}, flags...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

func open(t *testing.T, client *Client, options Options) *Session {
	t.Helper()
	session, err := client.Open(options)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// read pushes a text in pieces, ends the response and gives all events.
func read(t *testing.T, session *Session, text string, size int) []Event {
	t.Helper()
	var all []Event
	for len(text) > 0 {
		size := min(size, len(text))
		events, err := session.Push(text[:size])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, events...)
		text = text[size:]
	}
	events, err := session.Finish("stop")
	if err != nil {
		t.Fatal(err)
	}
	return append(all, events...)
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}

func calls(events []Event) (names []string) {
	for _, event := range events {
		if event.Call != nil {
			names = append(names, event.Call.Name+string(event.Call.Arguments))
		}
	}
	return names
}

const good = "On it.\n<tool_call>{\"name\": \"look\", \"arguments\": {\"q\": \"cats\"}}</tool_call>"

func TestACallComesOutHoweverItIsCut(t *testing.T) {
	client := start(t)
	session := open(t, client, Options{Tools: tools, Dialect: "hermes"})
	for _, size := range []int{1, 7, 1000} {
		events := read(t, session, good, size)
		if names := calls(events); len(names) != 1 || names[0] != `look{"q": "cats"}` {
			t.Fatalf("pieces of %d: %v", size, names)
		}
		if last := events[len(events)-1]; last.Kind != "finish" || last.FinishReason != "tool_calls" {
			t.Fatalf("the last event is %+v", last)
		}
	}
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsWrongIsToldToTheModelAndCounted(t *testing.T) {
	session := open(t, start(t), Options{Tools: tools, Dialect: "hermes", Strikes: 2})
	for count := 1; count <= 2; count++ {
		events := read(t, session, `<tool_call>{"name": "lok", "arguments": {}}</tool_call>`, 5)
		if len(calls(events)) != 0 {
			t.Fatal("a rejected call came out")
		}
		feedback, err := session.Feedback()
		if err != nil || !strings.Contains(feedback, "look") {
			t.Fatalf("%q, %v", feedback, err)
		}
		strikes, err := session.Strikes()
		if err != nil || strikes.Count != count || strikes.IsLast != (count == 2) {
			t.Fatalf("%+v, %v", strikes, err)
		}
	}
}

func TestStructuredCallsAreJudgedToo(t *testing.T) {
	session := open(t, start(t), Options{Tools: tools})
	deltas := []Delta{{Index: 0, ID: "c1", Name: "look"}, {Arguments: `{"q": "ca`}, {Arguments: `ts"}`, Done: true}}
	for _, delta := range deltas {
		if _, err := session.Native(delta); err != nil {
			t.Fatal(err)
		}
	}
	events, err := session.Finish("tool_calls")
	if names := calls(events); err != nil || len(names) != 1 || names[0] != `look{"q": "cats"}` {
		t.Fatalf("%v, %v", names, err)
	}
}

func TestMarkersCountOnlyAsSpecialTokens(t *testing.T) {
	session := open(t, start(t), Options{Dialect: "mistral-v11", Policy: map[string]any{"special": "required"}})
	if names := calls(read(t, session, "[TOOL_CALLS]look[ARGS]{}", 4)); len(names) != 0 {
		t.Fatalf("%v", names)
	}
	for _, piece := range []string{"[TOOL_CALLS]", "look", "[ARGS]", "{}"} {
		push := session.Push
		if strings.HasPrefix(piece, "[") {
			push = session.PushSpecial
		}
		if _, err := push(piece); err != nil {
			t.Fatal(err)
		}
	}
	events, err := session.Finish("stop")
	if names := calls(events); err != nil || len(names) != 1 {
		t.Fatalf("%v, %v", names, err)
	}
}

func TestManyConversationsAtOnce(t *testing.T) {
	client := start(t)
	var all sync.WaitGroup
	for worker := 0; worker < 8; worker++ {
		all.Add(1)
		go func() {
			defer all.Done()
			session, err := client.Open(Options{Tools: tools, Dialect: "hermes"})
			if err != nil {
				t.Error(err)
				return
			}
			for _, piece := range strings.SplitAfter(good, " ") {
				if _, err := session.Push(piece); err != nil {
					t.Error(err)
				}
			}
			events, err := session.Finish("stop")
			if len(calls(events)) != 1 || err != nil {
				t.Errorf("%v, %v", events, err)
			}
		}()
	}
	all.Wait()
}

func TestErrorsSayWhereAndWhatToDo(t *testing.T) {
	client := start(t, "--max-sessions", "1")
	_, err := client.Open(Options{Dialect: "hermez"})
	var finding *Finding
	if !errors.As(err, &finding) || finding.Code != "bad-request" || finding.Path != "/dialect" {
		t.Fatalf("%v", err)
	}
	session := open(t, client, Options{})
	if _, err := session.Feedback(); !errors.As(err, &finding) || finding.Code != "no-response" {
		t.Fatalf("%v", err)
	}
	if _, err := client.Open(Options{}); !errors.As(err, &finding) || finding.Code != "too-many-sessions" {
		t.Fatalf("%v", err)
	}
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Push("a"); !errors.As(err, &finding) || finding.Code != "unknown-session" {
		t.Fatalf("%v", err)
	}
}
