// Package callgate talks with `callgate session`, the sidecar by JSON lines: one process serves any number of
// conversations. It needs nothing but the command.
package callgate

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"sync"
)

// Client is a running sidecar. It may be used by many goroutines at once.
type Client struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	// One request is on its way at a time: answers come in the order of requests.
	turn sync.Mutex
	next int
}

// Options says what a conversation is read with. What is left out is as the flags of the command say.
type Options struct {
	Tools      any            `json:"tools,omitempty"`
	Dialect    string         `json:"dialect,omitempty"`
	Model      string         `json:"model,omitempty"`
	Profile    string         `json:"profile,omitempty"`
	Policy     map[string]any `json:"policy,omitempty"`
	PromptTail string         `json:"prompt_tail,omitempty"`
	Untrusted  []string       `json:"untrusted,omitempty"`
	Strikes    int            `json:"strikes,omitempty"`
}

// Event is a part of what a model wrote, or what became of it. Its kind says which of the other fields it has.
type Event struct {
	Kind         string    `json:"event"`
	Text         string    `json:"text"`
	Attempt      int       `json:"attempt"`
	Name         string    `json:"name"`
	Delta        string    `json:"delta"`
	Call         *Call     `json:"call"`
	Rejected     *Rejected `json:"rejected"`
	Finding      *Finding  `json:"finding"`
	FinishReason string    `json:"finish_reason"`
}

// UnmarshalJSON reads an event. The event that ends a response counts its rejections where others hold one.
func (e *Event) UnmarshalJSON(data []byte) error {
	type plain Event
	var kind struct {
		Event string `json:"event"`
	}
	if err := json.Unmarshal(data, &kind); err != nil {
		return err
	}
	if kind.Event == "finish" {
		var finish struct {
			FinishReason string `json:"finish_reason"`
		}
		err := json.Unmarshal(data, &finish)
		*e = Event{Kind: "finish", FinishReason: finish.FinishReason}
		return err
	}
	return json.Unmarshal(data, (*plain)(e))
}

// Call is a call that may be run. Nothing else may.
type Call struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// Rejected is an attempt at a call that may not be run.
type Rejected struct {
	Name     string    `json:"name"`
	Raw      string    `json:"raw"`
	Findings []Finding `json:"findings"`
}

// Finding says what is wrong, where, and what to do about it.
type Finding struct {
	Code    string `json:"code"`
	Path    string `json:"path"`
	Message string `json:"message"`
	Help    string `json:"help"`
}

// Error makes a finding the error of a request that could not be used.
func (f *Finding) Error() string {
	return fmt.Sprintf("%s at %q: %s (%s)", f.Code, f.Path, f.Message, f.Help)
}

// Strikes counts rejected responses in a row.
type Strikes struct {
	Count   int    `json:"count"`
	Left    int    `json:"left"`
	IsLast  bool   `json:"is_last"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Details string `json:"details"`
}

// Delta is a piece of a structured call as providers stream it.
type Delta struct {
	Index     int    `json:"index"`
	ID        string `json:"id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	Done      bool   `json:"done,omitempty"`
}

type answer struct {
	ID       string   `json:"id"`
	Events   []Event  `json:"events"`
	Feedback *string  `json:"feedback"`
	Strikes  *Strikes `json:"strikes"`
	Error    *Finding `json:"error"`
}

// Start runs the sidecar: Start("callgate", "session"), with any of its flags behind that.
func Start(command string, args ...string) (*Client, error) {
	process := exec.Command(command, args...)
	in, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	return &Client{command: process, in: in, out: bufio.NewReader(out)}, nil
}

// Close ends the sidecar and all conversations, and waits until it is gone.
func (c *Client) Close() error {
	if err := c.in.Close(); err != nil {
		return err
	}
	return c.command.Wait()
}

// Open begins a conversation.
func (c *Client) Open(options Options) (*Session, error) {
	c.turn.Lock()
	c.next++
	session := &Session{client: c, id: fmt.Sprintf("go-%d", c.next)}
	c.turn.Unlock()
	_, err := session.ask("open", options)
	return session, err
}

// Session is one conversation. The responses of it are read one after the other.
type Session struct {
	client *Client
	id     string
}

// Push reads a piece of the response, cut anywhere between characters.
func (s *Session) Push(text string) ([]Event, error) {
	return s.events("push", map[string]any{"text": text})
}

// PushSpecial reads a piece that came as special tokens of the model's vocabulary.
func (s *Session) PushSpecial(text string) ([]Event, error) {
	return s.events("push_special", map[string]any{"text": text})
}

// Native reads a piece of a structured call.
func (s *Session) Native(delta Delta) ([]Event, error) {
	return s.events("native", map[string]any{"delta": delta})
}

// Finish ends the response, for a reason in the provider's word. Calls come out here.
func (s *Session) Finish(reason string) ([]Event, error) {
	return s.events("finish", map[string]any{"finish_reason": reason})
}

// Feedback is what to tell the model about the last response; empty if there is nothing.
func (s *Session) Feedback() (string, error) {
	answer, err := s.ask("feedback", nil)
	if err != nil || answer.Feedback == nil {
		return "", err
	}
	return *answer.Feedback, nil
}

// Strikes says how many responses in a row were rejected.
func (s *Session) Strikes() (*Strikes, error) {
	answer, err := s.ask("strikes", nil)
	if err != nil {
		return nil, err
	}
	return answer.Strikes, nil
}

// Close ends the conversation.
func (s *Session) Close() error {
	_, err := s.ask("close", nil)
	return err
}

func (s *Session) events(op string, members any) ([]Event, error) {
	answer, err := s.ask(op, members)
	if err != nil {
		return nil, err
	}
	return answer.Events, nil
}

// ask sends one request and waits for its answer.
func (s *Session) ask(op string, members any) (*answer, error) {
	request := map[string]any{}
	if members != nil {
		text, err := json.Marshal(members)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &request); err != nil {
			return nil, err
		}
	}
	request["op"], request["id"] = op, s.id
	line, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	s.client.turn.Lock()
	defer s.client.turn.Unlock()
	if _, err := s.client.in.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	line, err = s.client.out.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("the sidecar is gone: %w", err)
	}
	var answer answer
	if err := json.Unmarshal(line, &answer); err != nil {
		return nil, err
	}
	if answer.Error != nil {
		return nil, answer.Error
	}
	if answer.ID != s.id {
		return nil, fmt.Errorf("an answer to %q came where one to %q was expected", answer.ID, s.id)
	}
	return &answer, nil
}
