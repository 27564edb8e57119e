// The client against the command that is the first argument: `scripts/sidecar` runs it.
using System;
using System.Collections.Generic;
using System.Linq;
using Callgate;

static class Test
{
    const string Options = "\"dialect\": \"hermes\", \"strikes\": 2, \"tools\": [{\"name\": \"look\", \"parameters\": {\"type\": \"object\", " +
        "\"properties\": {\"q\": {\"type\": \"string\"}}, \"required\": [\"q\"]}}]";
    const string Good = "On it, naïve 🚀.\n<tool_call>{\"name\": \"look\", \"arguments\": {\"q\": \"cats\"}}</tool_call>";

    static int checks;

    static void Check(bool holds, string what)
    {
        checks++;
        if (!holds) throw new Exception("not so: " + what);
    }

    static string Code(Action ask)
    {
        try { ask(); }
        catch (CallgateException error)
        {
            Check(error.Help.Length > 0 && error.Message.Length > 0, "an error says what to do");
            return error.Code + " " + error.Path;
        }
        return null;
    }

    static List<Event> Read(Session session, string text, int size)
    {
        var events = new List<Event>();
        for (var at = 0; at < text.Length;)
        {
            var end = Math.Min(at + size, text.Length);
            // A piece must not end between the halves of a character.
            if (char.IsHighSurrogate(text[end - 1])) end++;
            events.AddRange(session.Push(text.Substring(at, end - at)));
            at = end;
        }
        events.AddRange(session.Finish("stop"));
        return events;
    }

    static int Main(string[] arguments)
    {
        using (var client = new Client(arguments[0], "--max-sessions 2"))
        {
            var session = client.Open(Options);
            foreach (var size in new[] { 1, 7, 1000 })
            {
                var events = Read(session, Good, size);
                var call = events.Single(e => e.Kind == "call");
                Check(call.CallName == "look" && (string)call.CallArguments.Element("q") == "cats", "the call");
                Check(string.Concat(events.Where(e => e.Kind == "text").Select(e => e.Text)) == "On it, naïve 🚀.", "the text");
                Check(events.Last().Kind == "finish" && events.Last().FinishReason == "tool_calls", "the end");
            }
            Check(session.Feedback() == null, "nothing to tell");
            for (var count = 1; count <= 2; count++)
            {
                var events = Read(session, "<tool_call>{\"name\": \"lok\", \"arguments\": {}}</tool_call>", 5);
                Check(events.Any(e => e.Kind == "rejected") && events.All(e => e.CallName == null), "a rejection");
                Check(session.Feedback().Contains("look"), "what to tell the model");
                Check((int)session.Strikes().Element("count") == count, "the count");
                Check((bool)session.Strikes().Element("is_last") == (count == 2), "the last strike");
            }
            session.Native("{\"index\": 0, \"id\": \"c1\", \"name\": \"look\"}");
            session.Native("{\"index\": 0, \"arguments\": \"{\\\"q\\\": \\\"dogs\\\"}\", \"done\": true}");
            Check(session.Finish("tool_calls").Single(e => e.Kind == "call").CallName == "look", "a structured call");

            Check(Code(() => client.Open("\"dialect\": \"hermez\"")) == "bad-request /dialect", "a wrong dialect");
            var special = client.Open("\"dialect\": \"mistral-v11\", \"policy\": {\"special\": \"required\"}");
            Check(Read(special, "[TOOL_CALLS]look[ARGS]{}", 3).All(e => e.Kind != "call"), "a marker as text");
            special.PushSpecial("[TOOL_CALLS]");
            special.Push("look");
            special.PushSpecial("[ARGS]");
            special.Push("{}");
            Check(special.Finish("stop").Count(e => e.Kind == "call") == 1, "a marker as tokens");

            Check(Code(() => client.Open()) == "too-many-sessions /op", "too many");
            session.Close();
            Check(Code(() => session.Push("a")) == "unknown-session /id", "a closed session");
            var fresh = client.Open();
            Check(Code(() => fresh.Feedback()) == "no-response /op", "no response yet");
            Check(fresh.Push("half \ud83d.")[0].Text == "half \uFFFD.", "half of a pair");
        }
        Console.WriteLine("C#: " + checks + " checks");
        return 0;
    }
}
