// A client of `callgate session`, the sidecar by JSON lines: one process serves any number of conversations. It needs nothing
// but the command, and runs on .NET and on Mono.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Runtime.Serialization.Json;
using System.Text;
using System.Xml;
using System.Xml.Linq;

namespace Callgate
{
    /// <summary>A request that the sidecar could not use: what is wrong, where, and what to do about it.</summary>
    public sealed class CallgateException : Exception
    {
        public string Code { get; }
        public string Path { get; }
        public string Help { get; }

        internal CallgateException(XElement error) : base((string)error.Element("message"))
        {
            Code = (string)error.Element("code");
            Path = (string)error.Element("path");
            Help = (string)error.Element("help");
        }
    }

    /// <summary>A part of what a model wrote, or what became of it.</summary>
    public sealed class Event
    {
        /// <summary>text, reasoning, markup, call_started, arguments_delta, call, rejected, model_error, finding or finish.</summary>
        public string Kind { get; }

        /// <summary>All of the event. Every member of its JSON is an element.</summary>
        public XElement Data { get; }

        internal Event(XElement data)
        {
            Kind = (string)data.Element("event");
            Data = data;
        }

        public string Text => (string)Data.Element("text") ?? "";

        /// <summary>The name of a call that may be run. Nothing but an event of the kind call authorises that.</summary>
        public string CallName => Kind == "call" ? (string)Data.Element("call").Element("name") : null;

        /// <summary>The arguments of a call that may be run.</summary>
        public XElement CallArguments => Kind == "call" ? Data.Element("call").Element("arguments") : null;

        public string FinishReason => (string)Data.Element("finish_reason");
    }

    /// <summary>A running sidecar. Several threads may use it.</summary>
    public sealed class Client : IDisposable
    {
        private readonly Process process;
        private readonly StreamWriter requests;
        private readonly StreamReader answers;
        private readonly object turn = new object();
        private int opened;

        /// <summary>Runs the sidecar, with any of the flags of `callgate session`.</summary>
        public Client(string command, string flags = "")
        {
            process = Process.Start(new ProcessStartInfo(command, "session " + flags)
            {
                UseShellExecute = false,
                RedirectStandardInput = true,
                RedirectStandardOutput = true,
            });
            var utf8 = new UTF8Encoding(false);
            requests = new StreamWriter(process.StandardInput.BaseStream, utf8) { NewLine = "\n" };
            answers = new StreamReader(process.StandardOutput.BaseStream, utf8);
        }

        /// <summary>Begins a conversation. The options are the members of an object as JSON:
        /// "\"dialect\": \"hermes\", \"tools\": [...]".</summary>
        public Session Open(string options = "")
        {
            string id;
            lock (turn) id = "cs-" + ++opened;
            Ask(id, "open", options);
            return new Session(this, id);
        }

        internal XElement Ask(string id, string op, string members)
        {
            var comma = members.Length > 0 ? "," : "";
            var line = "{\"op\":" + Json.Quote(op) + ",\"id\":" + Json.Quote(id) + comma + members + "}";
            lock (turn)
            {
                // One request is on its way at a time: answers come in the order of requests.
                requests.WriteLine(line);
                requests.Flush();
                line = answers.ReadLine();
            }
            if (line == null) throw new IOException("the sidecar is gone");
            var answer = Json.Read(line);
            var error = answer.Element("error");
            if (error != null) throw new CallgateException(error);
            if ((string)answer.Element("id") != id) throw new IOException("an answer to somebody else came");
            return answer;
        }

        /// <summary>Ends the sidecar and all conversations, and waits until it is gone.</summary>
        public void Dispose()
        {
            requests.Dispose();
            process.WaitForExit();
            process.Dispose();
        }
    }

    /// <summary>One conversation. The responses of it are read one after the other.</summary>
    public sealed class Session
    {
        private readonly Client client;
        private readonly string id;

        internal Session(Client client, string id)
        {
            this.client = client;
            this.id = id;
        }

        /// <summary>Reads a piece of the response.</summary>
        public List<Event> Push(string text) => Events("push", Member("text", text));

        /// <summary>Reads a piece that came as special tokens of the model's vocabulary.</summary>
        public List<Event> PushSpecial(string text) => Events("push_special", Member("text", text));

        /// <summary>Reads a piece of a structured call: {"index": 0, "name": ..., "arguments": ...} as JSON.</summary>
        public List<Event> Native(string delta) => Events("native", "\"delta\":" + delta);

        /// <summary>Ends the response, for a reason in the provider's word. Calls come out here.</summary>
        public List<Event> Finish(string reason) => Events("finish", Member("finish_reason", reason));

        /// <summary>What to tell the model about the last response; null if there is nothing.</summary>
        public string Feedback()
        {
            var feedback = client.Ask(id, "feedback", "").Element("feedback");
            return (string)feedback.Attribute("type") == "null" ? null : (string)feedback;
        }

        /// <summary>How many responses in a row were rejected: count, left, is_last, code, message, details.</summary>
        public XElement Strikes() => client.Ask(id, "strikes", "").Element("strikes");

        /// <summary>Ends the conversation.</summary>
        public void Close() => client.Ask(id, "close", "");

        private List<Event> Events(string op, string members) =>
            client.Ask(id, op, members).Element("events").Elements().Select(data => new Event(data)).ToList();

        private static string Member(string name, string text) => Json.Quote(name) + ":" + Json.Quote(text);
    }

    /// <summary>As much JSON as the protocol needs.</summary>
    public static class Json
    {
        /// <summary>A text as a JSON string. A half of a surrogate pair, which no text has, becomes U+FFFD.</summary>
        public static string Quote(string text)
        {
            var quoted = new StringBuilder("\"");
            for (var i = 0; i < text.Length; i++)
            {
                var c = text[i];
                if (char.IsHighSurrogate(c) && i + 1 < text.Length && char.IsLowSurrogate(text[i + 1]))
                    quoted.Append(c).Append(text[++i]);
                else if (char.IsSurrogate(c)) quoted.Append('\uFFFD');
                else if (c == '"' || c == '\\') quoted.Append('\\').Append(c);
                else if (c < ' ') quoted.Append("\\u").Append(((int)c).ToString("x4"));
                else quoted.Append(c);
            }
            return quoted.Append('"').ToString();
        }

        /// <summary>JSON as elements: members by their names, items as "item".</summary>
        public static XElement Read(string json)
        {
            var bytes = Encoding.UTF8.GetBytes(json);
            using (var reader = JsonReaderWriterFactory.CreateJsonReader(bytes, XmlDictionaryReaderQuotas.Max))
                return XElement.Load(reader);
        }
    }
}
