"""Public question-answering sets as sessions whose last query hides what it asks for (PSS, sections 3.1, 3.3 and B.3).

The rule, from a published file to what is run; nothing in it is drawn by chance or looked at by anybody:

1. **Rows** (:mod:`.rows`). A file is read as it is published. Rows of tasks that are not used, such as summaries,
   are left out.
2. **Documents** (:mod:`.documents`). A context that begins with ``Passage 1:`` and has a second such line is as many
   documents, with the line after each as title; any other context is one. A document is cut at sentences into
   passages of at most 160 words. Ids are hashes of content, so that a text that occurs twice is one document.
3. **Evidence.** One group, of which any one serves: the passages that hold an answer, word for word. If none does,
   the whole of a document that is alone in its context; a row with several documents is then left out, since none of
   them is known to be the right one. As the paper measures, on demand: every passage of a document that holds the
   answer.
4. **Requests** (:mod:`.requests`). A row is left out if it has no answer, repeats a question of the same context,
   asks without a content word or with a word of each of the follow-ups, or names an answer in its question.
5. **Sessions** (:mod:`.sessions`). Rows that share a document, directly or through others, form a group; rows that
   share none are put together by task, in the order of the files. Each group gives sessions of two to six requests;
   a row that has nobody to be with is left out. Splits are made of groups, by hash, a fifth for calibration: no
   context is in two splits or groups.
6. **History** (:mod:`.activity`). The user begins each request in full, switches back to one of them, chosen by hash,
   if it was not the last, and archives the others. The assistant acknowledges, and says nothing of an answer.
7. **Probes.** Three fixed follow-ups, again by hash, of those that share no content word with the active request,
   by stem. What the state is taught is parsed from the markers of the history alone.

All sessions search one pool, of every document of every session, and the state that serves as the wrong one is that
of the session of the same task, of another group, that is nearest in length.

A state is taught one clue, its active request's, and cannot be better than that clue as text (the arm
``concatenation``): what is tested is access to it by words unseen in writing, with the request's text supplied.
"""
